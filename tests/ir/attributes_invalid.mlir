// RUN: betz-opt %s -verify-diagnostics -split-input-file

// expected-error @+2 {{expected string}}
// expected-error @+1 {{failed to parse Betz_RowsAttr parameter 'symbol'}}
func.func private @symbol(tensor<?xf32, #betz.rows<events>>)

// -----

// expected-error @+2 {{expected integer value}}
// expected-error @+1 {{failed to parse Betz_RowsAttr parameter 'plus'}}
func.func private @plus(tensor<?xf32, #betz.rows<"events" + "1">>)

// -----

// expected-error @+1 {{expected 'arena'}}
module attributes {a = #betz.bucket<capacity = [1], 4>} {}

// -----

// expected-error @+1 {{unknown attribute `bin` in dialect `betz`}}
module attributes {a = #betz.bin<1>} {}
