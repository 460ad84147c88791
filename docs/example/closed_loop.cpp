// A closed loop: spikes in, movement out at each stride, before a deadline.
#include "serve/engine/Engine.h"
#include "serve/engine/StreamSession.h"

#include <cstdio>
#include <thread>

using namespace betz;

int main(int, char **argv) {
  auto engine = serve::Engine::create({.threads = 2});
  if (!engine.isOk() || !(*engine)->load({.path = argv[1], .name = "m"}).isOk())
    return 1;
  auto opened = (*engine)->openStream(
      {.model = "m", .deadline = std::chrono::milliseconds(50)});
  auto *stream = std::get_if<std::shared_ptr<serve::StreamSession>>(&opened);
  if (!stream)
    return 1;

  auto move = [](const serve::StreamAnswer &answer) {
    if (auto *error = std::get_if<serve::Error>(&answer.answer))
      std::printf("bin %d: %s\n", answer.endBin, error->message.c_str());
    else
      std::printf("bin %d: %.3f %.3f\n", answer.endBin,
                  double(std::get<serve::Decoded>(answer.answer).behavior[0]),
                  double(std::get<serve::Decoded>(answer.answer).behavior[1]));
  };
  auto next = serve::Clock::now();
  for (int32_t bin = 0; bin < 100; ++bin) {
    // Here the spikes of bin `bin` come from the amplifier.
    const serve::StreamEvent spikes[] = {{bin % 7, bin}, {bin % 5, bin}};
    if (!(*stream)->push(spikes).isOk() ||
        !(*stream)->advance(bin + 1, move).isOk())
      return 1;
    std::this_thread::sleep_until(next += std::chrono::milliseconds(5));
  }
  (*engine)->drain(std::chrono::seconds(1));
}
