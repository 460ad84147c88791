// Cross-attention from 256 constant queries, 8 heads of 64, to a window's events:
// to all of them, by a given map of 64 x 64 blocks, and within a reach of time
// that covers a quarter of the elements. Keys and values are table rows; a narrow
// product follows each, so that a step's outputs are small.

!index = tensor<?xi32, #betz.rows<"events">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>
!kv = tensor<?x1024xf32, #betz.rows<"events">>
!keys = tensor<?x512xf32, #betz.rows<"events">>
!query = tensor<256x512xf32>
!states = tensor<?x256x512xf32, #betz.rows<"batch">>
!result = tensor<?x256x8xf32, #betz.rows<"batch">>
!neurons = tensor<512x1024xf32>
!times = tensor<1024x1024xf32>
!values = tensor<8x1024xf32>
!end = tensor<8x512xf32>
!bounds = tensor<256x2xi32>
!map = tensor<4x32xi32>

module attributes {betz.phase = "model", betz.symbols = ["batch", "events"]} {
  func.func @prepare(%neurons: !neurons {betz.weight = "neurons"},
                     %times: !times {betz.weight = "times"},
                     %values: !values {betz.weight = "values"},
                     %query: !query {betz.weight = "query"},
                     %end: !end {betz.weight = "end"})
      -> (!neurons {betz.derived = "neurons"}, !times {betz.derived = "times"},
          !values {betz.derived = "values"}, !query {betz.derived = "query"},
          !end {betz.derived = "end"}, !bounds {betz.derived = "bounds"}) {
    %bounds = betz.reach_bounds {span = 1024.0 : f64, reach = 137.2 : f64}
        : () -> !bounds
    return %neurons, %times, %values, %query, %end, %bounds
        : !neurons, !times, !values, !query, !end, !bounds
  }
  func.func @main(%neurons: !neurons {betz.derived = "neurons"},
                  %times: !times {betz.derived = "times"},
                  %values: !values {betz.derived = "values"},
                  %query: !query {betz.derived = "query"},
                  %end: !end {betz.derived = "end"},
                  %bounds: !bounds {betz.derived = "bounds"},
                  %neuron: !index {betz.input = "neuron_id"},
                  %time: !index {betz.input = "time_bin"},
                  %value: !index {betz.input = "value"},
                  %splits: !splits {betz.input = "row_splits"},
                  %map: !map {betz.input = "block_map"})
      -> (!result {betz.output = "dense"}, !result {betz.output = "map"},
          !result {betz.output = "reach"}) {
    %kv = betz.gather_sum (%neuron, %time, %value) in (%neurons, %times, %values)
        : (!index, !index, !index, !neurons, !times, !values) -> !kv
    %k = betz.slice %kv {offset = 0 : i64} : (!kv) -> !keys
    %v = betz.slice %kv {offset = 512 : i64} : (!kv) -> !keys
    %dense = betz.attention %query, %k, %v splits %splits
        {betz.section = "dense", heads = 8 : i64, kv_heads = 8 : i64,
         scale = 0.125 : f64}
        : (!query, !keys, !keys, !splits) -> !states
    %map_states = betz.attention %query, %k, %v splits %splits blocks %map
        {betz.section = "map", heads = 8 : i64, kv_heads = 8 : i64,
         scale = 0.125 : f64, map_block = 64 : i64}
        : (!query, !keys, !keys, !splits, !map) -> !states
    %reach = betz.attention %query, %k, %v splits %splits bounds %time, %bounds
        {betz.section = "reach", heads = 8 : i64, kv_heads = 8 : i64,
         scale = 0.125 : f64}
        : (!query, !keys, !keys, !splits, !index, !bounds) -> !states
    %a = betz.matmul %dense, %end : (!states, !end) -> !result
    %b = betz.matmul %map_states, %end : (!states, !end) -> !result
    %c = betz.matmul %reach, %end : (!states, !end) -> !result
    return %a, %b, %c : !result, !result, !result
  }
}
