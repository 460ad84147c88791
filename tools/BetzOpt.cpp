//===- BetzOpt.cpp - betz-opt: parse, verify, transform and print ---------===//
#include "ir/BetzDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  betz::passes::registerBetzPasses();
  mlir::DialectRegistry registry;
  registry.insert<betz::ir::BetzDialect, mlir::func::FuncDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Betz optimizer driver\n", registry));
}
