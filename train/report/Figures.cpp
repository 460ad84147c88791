#include "train/report/Figures.h"
#include "runtime/base/Xml.h"
#include "train/report/Plot.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>

namespace betz::train {
namespace {

constexpr double kWidth = 350;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string numberText(double value, int digits = 3) {
  return std::isfinite(value) ? tickText(value, std::pow(10.0, -digits)) : "–";
}

std::string_view classOf(const Predictor &predictor,
                         const Evaluation &evaluation) {
  if (&predictor == &evaluation.judged())
    return "judged";
  return predictor.kind == PredictorKind::Control ? "control" : "other";
}

double rootMeanSquare(const Predictor &predictor, const Table &targets,
                      std::span<const int64_t> rows) {
  double sum = 0;
  for (int64_t row : rows)
    for (int64_t column = 0; column < targets.columns; ++column)
      sum += std::pow(
          predictor.predictions.at(row, column) - targets.at(row, column), 2);
  return std::sqrt(sum / double(rows.size()) / double(targets.columns));
}

//===- Scores -------------------------------------------------------------===//

Figure scoreFigure(const Evaluation &evaluation, size_t number) {
  constexpr double kRow = 19, kLeft = 104, kRight = 300, kTop = 8;
  const Scope &scope = evaluation.scopes[number];
  const double bottom = kTop + kRow * double(evaluation.predictors.size());
  const Axis x = {-0.25, 1, kLeft, kRight};
  Plot plot(kWidth, bottom + 18, "R² of each predictor, " + scope.name);
  for (double tick : {0.0, 0.5, 1.0})
    plot.line({x(tick), kTop}, {x(tick), bottom}, tick == 0 ? "zero" : "grid");
  double y = kTop + kRow / 2;
  for (const Predictor &predictor : evaluation.predictors) {
    const std::string_view style = classOf(predictor, evaluation);
    const ScopeScore &entry = predictor.scores[number];
    const double r2 = entry.score.meanR2();
    auto place = [&](double value) {
      return x(std::clamp(value, x.low, x.high));
    };
    plot.text({kLeft - 8, y + 4}, predictor.name, fmt::format("name {}", style),
              "end");
    if (std::isfinite(entry.interval.low) && entry.interval.high > x.low)
      plot.line({place(entry.interval.low), y}, {place(entry.interval.high), y},
                fmt::format("whisker {}", style));
    if (r2 >= x.low)
      plot.dot({place(r2), y}, 3.2, fmt::format("mark {}", style));
    else if (std::isfinite(r2))
      plot.text({x(x.low), y + 4}, "◂", fmt::format("name {}", style));
    plot.text({kWidth - 4, y + 4}, numberText(r2),
              fmt::format("value {}", style), "end");
    y += kRow;
  }
  for (double tick : {0.0, 0.5, 1.0})
    plot.text({x(tick), bottom + 13},
              tick == 0.5 ? "0.5" : fmt::format("{:g}", tick), "tick",
              "middle");
  return {plot.finish(),
          fmt::format("<b>{}</b> {}; {} bins", scope.name, scope.meaning,
                      evaluation.judged().scores[number].score.rows)};
}

//===- Pieces -------------------------------------------------------------===//

std::vector<std::vector<int64_t>> rowsByPiece(const Evaluation &evaluation) {
  std::vector<std::vector<int64_t>> pieces;
  for (size_t row = 0; row < evaluation.group.size(); ++row) {
    pieces.resize(size_t(evaluation.group[row]) + 1);
    pieces.back().push_back(int64_t(row));
  }
  return pieces;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double size() const { return high - low; }
};

/// Rows without the ones that were left out; NaN breaks the curve there.
std::vector<Point> curveOf(const Evaluation &evaluation,
                           std::span<const int64_t> rows, const Table &table,
                           int64_t column, const Axis &x, const Axis &y) {
  double step = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < rows.size(); ++i)
    step = std::min(step, evaluation.seconds[size_t(rows[i])] -
                              evaluation.seconds[size_t(rows[i - 1])]);
  std::vector<Point> points;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double seconds = evaluation.seconds[size_t(rows[i])];
    if (i > 0 && seconds - evaluation.seconds[size_t(rows[i - 1])] > 1.5 * step)
      points.push_back({kNaN, kNaN});
    points.push_back({x(seconds), y(table.at(rows[i], column))});
  }
  return points;
}

Figure traceFigure(const Evaluation &evaluation, const ShownPiece &piece,
                   const Range &range, bool isFirst) {
  constexpr double kLeft = 40, kHeight = 78, kTop = 6;
  constexpr int64_t kMostColumns = 3;
  const int64_t columns = std::min(kMostColumns, evaluation.targets.columns);
  const double bottom = kTop + kHeight * double(columns);
  Plot plot(kWidth, bottom + 30, "measured and decoded " + piece.rank);
  const Axis x = {0,
                  evaluation.seconds[size_t(piece.rows.back())] +
                      evaluation.binMs / 2000,
                  kLeft, kWidth - 12};
  for (int64_t column = 0; column < columns; ++column) {
    const double top = kTop + kHeight * double(column);
    const Axis y = {range.low, range.high, top + kHeight - 8, top + 4};
    plot.ticksLeft(y, kLeft, kWidth - 12, 3);
    plot.curve(
        curveOf(evaluation, piece.rows, evaluation.targets, column, x, y),
        "measured");
    plot.curve(curveOf(evaluation, piece.rows, evaluation.judged().predictions,
                       column, x, y),
               "decoded");
    plot.text({kWidth - 12, top + 12},
              columns <= 3 ? std::string(1, "xyz"[column])
                           : fmt::to_string(column),
              "name other", "end");
  }
  plot.line({kLeft, bottom - 4}, {kWidth - 12, bottom - 4}, "axis");
  plot.ticksBelow(x, bottom - 4, 5);
  plot.text({kWidth - 12, bottom + 25}, "s since the start", "tick", "end");
  if (isFirst) {
    plot.text({kLeft, bottom + 25}, "measured", "key measured-text");
    plot.text({kLeft + 70, bottom + 25}, "decoded", "key decoded-text");
  }
  return {plot.finish(),
          fmt::format("<b>{}</b> {} {}", piece.rank, sizeText(piece.error),
                      escapeXml(evaluation.unit))};
}

/// Where the hand is by summing its velocity up, from the piece's start.
std::vector<Point> pathOf(const Evaluation &evaluation,
                          std::span<const int64_t> rows, const Table &table) {
  std::vector<Point> path = {{0, 0}};
  double before = evaluation.seconds[size_t(rows.front())];
  for (int64_t row : rows) {
    const double seconds = evaluation.seconds[size_t(row)] - before;
    before = evaluation.seconds[size_t(row)];
    path.push_back({path.back().x + seconds * table.at(row, 0),
                    path.back().y + seconds * table.at(row, 1)});
  }
  return path;
}

} // namespace

std::vector<Figure> scoreFigures(const Evaluation &evaluation) {
  std::vector<Figure> figures;
  for (size_t i = 0; i < evaluation.scopes.size(); ++i)
    figures.push_back(scoreFigure(evaluation, i));
  return figures;
}

std::vector<ShownPiece> choosePieces(const Evaluation &evaluation) {
  const std::vector<std::vector<int64_t>> all = rowsByPiece(evaluation);
  std::vector<std::pair<double, size_t>> byError;
  for (size_t i = 0; i < all.size(); ++i)
    byError.emplace_back(
        rootMeanSquare(evaluation.judged(), evaluation.targets, all[i]), i);
  std::sort(byError.begin(), byError.end());
  constexpr std::pair<double, const char *> kRanks[] = {
      {0.05, "5th percentile of error"},
      {0.25, "25th percentile"},
      {0.5, "median error"},
      {0.75, "75th percentile"},
      {0.95, "95th percentile"},
      {1.0, "largest error"}};
  std::vector<ShownPiece> shown;
  size_t before = all.size();
  for (const auto &[part, rank] : kRanks) {
    const size_t place = size_t(std::lround(part * double(all.size() - 1)));
    if (place == before)
      continue;
    before = place;
    const auto &[error, piece] = byError[place];
    shown.push_back({all[piece], error, rank});
  }
  return shown;
}

std::vector<Figure> traceFigures(const Evaluation &evaluation,
                                 const std::vector<ShownPiece> &pieces) {
  Range range;
  for (const ShownPiece &piece : pieces)
    for (int64_t row : piece.rows)
      for (int64_t column = 0; column < evaluation.targets.columns; ++column) {
        range.add(evaluation.targets.at(row, column));
        range.add(evaluation.judged().predictions.at(row, column));
      }
  if (range.size() == 0)
    range.add(range.low + 1);
  std::vector<Figure> figures;
  for (const ShownPiece &piece : pieces)
    figures.push_back(
        traceFigure(evaluation, piece, range, &piece == &pieces.front()));
  return figures;
}

std::vector<Figure> pathFigures(const Evaluation &evaluation,
                                const std::vector<ShownPiece> &pieces) {
  if (evaluation.targets.columns != 2 ||
      evaluation.protocol.sessions.size() > 1)
    return {};
  struct Paths {
    std::vector<Point> measured, decoded;
    Point middle;
  };
  std::vector<Paths> all;
  double widest = 0;
  for (const ShownPiece &piece : pieces) {
    Paths paths = {
        pathOf(evaluation, piece.rows, evaluation.targets),
        pathOf(evaluation, piece.rows, evaluation.judged().predictions),
        {}};
    Range x, y;
    for (const std::vector<Point> *path : {&paths.measured, &paths.decoded})
      for (const Point &point : *path) {
        x.add(point.x);
        y.add(point.y);
      }
    paths.middle = {(x.low + x.high) / 2, (y.low + y.high) / 2};
    widest = std::max({widest, x.size(), y.size()});
    all.push_back(std::move(paths));
  }
  if (widest == 0)
    return {};
  std::string unit = evaluation.unit;
  unit = unit.ends_with("/s") ? unit.substr(0, unit.size() - 2) : unit + "·s";
  constexpr double kSide = 200, kMargin = 12, kBar = 28;
  const double scale = (kSide - 2 * kMargin) / widest;
  const double bar = roundTicks(0, widest / 2, 3).back();
  std::vector<Figure> figures;
  for (size_t i = 0; i < all.size(); ++i) {
    Plot plot(kSide, kSide + kBar, "hand paths, " + pieces[i].rank);
    auto place = [&](std::vector<Point> path) {
      for (Point &point : path)
        point = {kSide / 2 + (point.x - all[i].middle.x) * scale,
                 kSide / 2 - (point.y - all[i].middle.y) * scale};
      return path;
    };
    plot.curve(place(all[i].measured), "measured");
    plot.curve(place(all[i].decoded), "decoded");
    plot.dot(place({{0, 0}}).front(), 2.5, "start");
    plot.line({kMargin, kSide + 8}, {kMargin + bar * scale, kSide + 8}, "axis");
    plot.text({kMargin, kSide + 22}, fmt::format("{:g} {}", bar, unit), "tick");
    figures.push_back({plot.finish(), pieces[i].rank});
  }
  return figures;
}

namespace {

//===- Errors -------------------------------------------------------------===//

/// Those whose error is drawn: the decoder, ridge, and the mean.
std::vector<const Predictor *> drawn(const Evaluation &evaluation) {
  return {&evaluation.judged(), evaluation.find("ridge"),
          evaluation.find("mean")};
}

Figure errorOverTime(const Evaluation &evaluation) {
  constexpr double kLeft = 44, kRight = 276, kBottom = 178;
  // A mean over fewer is no curve.
  constexpr size_t kFewestRows = 5;
  const bool isAligned = !evaluation.alignedTo.empty();
  std::map<int64_t, std::vector<int64_t>> rowsAt;
  for (int64_t row = 0; row < evaluation.targets.rows; ++row) {
    const double ms = isAligned ? evaluation.alignedMs[size_t(row)]
                                : evaluation.seconds[size_t(row)] * 1000;
    if (std::isfinite(ms))
      rowsAt[int64_t(std::floor(ms / evaluation.binMs))].push_back(row);
  }
  std::erase_if(rowsAt, [&](const auto &entry) {
    return entry.second.size() <
           std::max(kFewestRows, size_t(evaluation.group.back() + 1) / 10);
  });
  if (rowsAt.size() < 3)
    return {};
  auto secondsOf = [&](int64_t bin) {
    return (double(bin) + 0.5) * evaluation.binMs / 1000;
  };
  Range range;
  range.add(0);
  std::vector<std::vector<double>> errors;
  for (const Predictor *predictor : drawn(evaluation)) {
    std::vector<double> &list = errors.emplace_back();
    for (const auto &[bin, rows] : rowsAt)
      range.add(list.emplace_back(
          rootMeanSquare(*predictor, evaluation.targets, rows)));
  }
  Plot plot(kWidth, 212, "error over the time of a trial");
  const Axis x = {secondsOf(rowsAt.begin()->first),
                  secondsOf(rowsAt.rbegin()->first), kLeft, kRight};
  const Axis y = {0, range.high, kBottom, 12};
  plot.ticksLeft(y, kLeft, kRight, 4);
  plot.line({kLeft, kBottom}, {kRight, kBottom}, "axis");
  plot.ticksBelow(x, kBottom, 5);
  std::vector<std::pair<double, size_t>> ends;
  for (size_t i = 0; i < errors.size(); ++i) {
    std::vector<Point> points;
    size_t at = 0;
    for (const auto &[bin, rows] : rowsAt)
      points.push_back({x(secondsOf(bin)), y(errors[i][at++])});
    plot.curve(points, fmt::format("curve {}",
                                   classOf(*drawn(evaluation)[i], evaluation)));
    ends.emplace_back(points.back().y, i);
  }
  // Names at the curves' ends, kept apart.
  std::sort(ends.begin(), ends.end());
  for (size_t i = 1; i < ends.size(); ++i)
    ends[i].first = std::max(ends[i].first, ends[i - 1].first + 13);
  const double over = std::max(0.0, ends.back().first - kBottom);
  for (const auto &[at, i] : ends) {
    const Predictor &predictor = *drawn(evaluation)[i];
    plot.text({kRight + 5, at - over + 4}, predictor.name,
              fmt::format("name {}", classOf(predictor, evaluation)));
  }
  const std::string origin = evaluation.alignedTo == "move_onset_time"
                                 ? "movement onset"
                             : evaluation.piecesAreTrials ? "the trial's start"
                                                          : "the block's start";
  plot.text({kRight, kBottom + 28}, "s from " + origin, "tick", "end");
  return {plot.finish(),
          fmt::format("<b>Over time</b> root mean squared error in {}, by time "
                      "from {}",
                      escapeXml(evaluation.unit), origin)};
}

Figure errorByPhase(const Evaluation &evaluation) {
  constexpr double kRow = 44, kLeft = 92, kRight = 338, kTop = 8;
  if (evaluation.phases == 0)
    return {};
  const size_t first = evaluation.scopes.size() - evaluation.phases;
  auto errorOf = [](const Predictor &predictor, size_t scope) {
    return std::sqrt(predictor.scores[scope].score.meanMse());
  };
  Range range;
  for (size_t i = first; i < evaluation.scopes.size(); ++i)
    for (const Predictor *predictor : drawn(evaluation))
      range.add(errorOf(*predictor, i));
  const double bottom = kTop + kRow * double(evaluation.phases);
  const Axis x = {0, range.high * 1.02, kLeft, kRight};
  Plot plot(kWidth, bottom + 34, "error by phase of the trial");
  for (size_t i = first; i < evaluation.scopes.size(); ++i) {
    const double y = kTop + kRow * (double(i - first) + 0.55);
    plot.line({kLeft, y}, {kRight, y}, "grid");
    plot.text({kLeft - 8, y + 4}, evaluation.scopes[i].name, "name other",
              "end");
    // Names above in turn, lest those of near errors touch.
    double step = 0;
    for (const Predictor *predictor : drawn(evaluation)) {
      const double at = x(errorOf(*predictor, i));
      const std::string_view style = classOf(*predictor, evaluation);
      plot.dot({at, y}, 3.6, fmt::format("mark {}", style));
      if (i == first)
        plot.text({std::min(at, kRight - 30), y + (step == 1 ? 17 : -8)},
                  predictor == &evaluation.judged() ? "decoder"
                                                    : predictor->name,
                  fmt::format("tick {}", style), "middle");
      ++step;
    }
  }
  plot.line({kLeft, bottom}, {kRight, bottom}, "axis");
  plot.ticksBelow(x, bottom, 5);
  plot.text({kRight, bottom + 29}, evaluation.unit, "tick", "end");
  return {plot.finish(), "<b>By phase</b> root mean squared error of the "
                         "decoder, ridge and the mean of train"};
}

} // namespace

std::vector<Figure> errorFigures(const Evaluation &evaluation) {
  std::vector<Figure> figures;
  for (Figure figure : {errorOverTime(evaluation), errorByPhase(evaluation)})
    if (!figure.svg.empty())
      figures.push_back(std::move(figure));
  return figures;
}

std::vector<Figure> unitFigures(const Evaluation &evaluation) {
  if (evaluation.byUnits.empty())
    return {};
  constexpr double kLeft = 40, kRight = 338, kBottom = 178;
  Range range;
  range.add(0);
  for (const UnitCount &count : evaluation.byUnits)
    for (double r2 : count.r2)
      range.add(std::max(r2, -0.5));
  Plot plot(kWidth, 212, "R² by number of units");
  const Axis x = {0, double(evaluation.byUnits.back().units), kLeft, kRight};
  const Axis y = {range.low, std::max(range.high, 0.1), kBottom, 14};
  plot.ticksLeft(y, kLeft, kRight, 7);
  plot.line({kLeft, kBottom}, {kRight, kBottom}, "axis");
  plot.ticksBelow(x, kBottom, 6);
  std::vector<Point> means;
  for (const UnitCount &count : evaluation.byUnits) {
    double sum = 0;
    for (double r2 : count.r2) {
      const double shown = std::max(r2, range.low);
      plot.dot({x(double(count.units)), y(shown)}, 2.6, "mark draw");
      sum += shown / double(count.r2.size());
    }
    means.push_back({x(double(count.units)), y(sum)});
  }
  plot.curve(means, "curve judged");
  plot.text({kRight, kBottom + 28}, "units that the decoder sees", "tick",
            "end");
  const size_t draws = evaluation.byUnits.front().r2.size();
  return {{plot.finish(),
           fmt::format("<b>Fewer units</b> R² on all bins; {} draw{} of each "
                       "number of units (dots) and their mean, not trained "
                       "anew",
                       draws, draws == 1 ? "" : "s")}};
}

} // namespace betz::train
