#pragma once

namespace betz {

/// A visitor of std::variant made of lambdas.
template <typename... Ts> struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts> Overloaded(Ts...) -> Overloaded<Ts...>;

} // namespace betz
