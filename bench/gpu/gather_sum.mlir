// Sums of a row of each of three tables, 512 wide. One query attends to them, so
// that a step's output is small.

!index = tensor<?xi32, #betz.rows<"events">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>
!tokens = tensor<?x512xf32, #betz.rows<"events">>
!query = tensor<1x512xf32>
!result = tensor<?x1x512xf32, #betz.rows<"batch">>
!neurons = tensor<512x512xf32>
!times = tensor<1024x512xf32>
!values = tensor<8x512xf32>

module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  func.func @prepare(%neurons: !neurons {betz.weight = "neurons"},
                     %times: !times {betz.weight = "times"},
                     %values: !values {betz.weight = "values"},
                     %query: !query {betz.weight = "query"})
      -> (!neurons {betz.derived = "neurons"}, !times {betz.derived = "times"},
          !values {betz.derived = "values"}, !query {betz.derived = "query"}) {
    return %neurons, %times, %values, %query : !neurons, !times, !values, !query
  }
  func.func @main(%neurons: !neurons {betz.derived = "neurons"},
                  %times: !times {betz.derived = "times"},
                  %values: !values {betz.derived = "values"},
                  %query: !query {betz.derived = "query"},
                  %neuron: !index {betz.input = "neuron_id"},
                  %time: !index {betz.input = "time_bin"},
                  %value: !index {betz.input = "value"},
                  %splits: !splits {betz.input = "row_splits"})
      -> (!result {betz.output = "result"}) {
    %x = betz.gather_sum (%neuron, %time, %value) in (%neurons, %times, %values)
        {betz.section = "measured"}
        : (!index, !index, !index, !neurons, !times, !values) -> !tokens
    %y = betz.attention %query, %x, %x splits %splits
        {heads = 8 : i64, kv_heads = 8 : i64, scale = 0.125 : f64}
        : (!query, !tokens, !tokens, !splits) -> !result
    return %y : !result
  }
}
