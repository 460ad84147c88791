#!/usr/bin/env python3
"""The public client of the Open Inference Protocol, unchanged, over HTTP.

Usage: triton_client.py FOLDER_OF_BETZ MODELS COMMANDLINE_TESTS
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import tritonclient.http as client
    from tritonclient.utils import InferenceServerException
except ImportError as error:
    print(f"skipped: {error}; pip install tritonclient[http]")
    sys.exit(77)

sys.path.insert(0, sys.argv[3])
import safetensors
from server_process import Checks, Server, compile_demo

LENGTHS = (40, 0, 7)


def make_windows():
    random = np.random.default_rng(3)
    total = sum(LENGTHS)
    return {"neuron_id": random.integers(0, 256, total, dtype=np.int32),
            "time_bin": random.integers(0, 15, total, dtype=np.int32),
            "value": random.integers(1, 8, total, dtype=np.int32),
            "row_splits": np.cumsum((0,) + LENGTHS, dtype=np.int32)}


def decode_without_server(binaries, folder, program, windows):
    """[windows, 2] by `betz-rt run`."""
    batch = os.path.join(folder, "batch.safetensors")
    decoded = os.path.join(folder, "decoded.safetensors")
    header, data = {}, b""
    for name, values in windows.items():
        start = len(data)
        data += values.tobytes()
        header[name] = {"dtype": "I32", "shape": [len(values)],
                        "data_offsets": [start, len(data)]}
    with open(batch, "wb") as file:
        file.write(safetensors.frame(header, data))
    subprocess.run([os.path.join(binaries, "betz-rt"), "run", program,
                    "--input", batch, "--output", decoded], check=True,
                   stdout=subprocess.DEVNULL)
    _, shape, values = safetensors.read(decoded)[0]["behavior"]
    return np.frombuffer(values, np.float32).reshape(shape)


def make_inputs(windows, binary):
    inputs = []
    for name, values in windows.items():
        tensor = client.InferInput(name, values.shape, "INT32")
        tensor.set_data_from_numpy(values, binary_data=binary)
        inputs.append(tensor)
    return inputs


def check_metadata(checks, triton):
    checks.true("live", triton.is_server_live())
    checks.true("ready", triton.is_server_ready())
    checks.true("model ready", triton.is_model_ready("demo"))
    checks.true("version ready", triton.is_model_ready("demo", "1"))
    checks.true("unknown not ready", not triton.is_model_ready("nobody"))
    server = triton.get_server_metadata()
    checks.equal("name", server["name"], "betz")
    checks.true("extensions", {"binary_tensor_data", "statistics",
                               "model_repository"} <= set(server["extensions"]))
    model = triton.get_model_metadata("demo")
    checks.equal("versions", model["versions"], ["1"])
    checks.equal("inputs", [tensor["name"] for tensor in model["inputs"]],
                 ["neuron_id", "time_bin", "value", "row_splits"])
    checks.equal("output", model["outputs"],
                 [{"name": "behavior", "datatype": "FP32", "shape": [-1, 2]}])


def check_infer(checks, triton, expected, windows):
    for binary_in in (False, True):
        for binary_out in (False, True):
            outputs = [client.InferRequestedOutput("behavior",
                                                   binary_data=binary_out)]
            result = triton.infer("demo", make_inputs(windows, binary_in),
                                  outputs=outputs, request_id="r1", priority=1,
                                  timeout=10_000_000)
            what = f"infer, binary in {binary_in}, out {binary_out}"
            checks.true(what + ": same bits", np.array_equal(
                result.as_numpy("behavior"), expected))
            response = result.get_response()
            checks.equal(what + ": id", response["id"], "r1")
            checks.equal(what + ": model", (response["model_name"],
                                            response["model_version"]),
                         ("demo", "1"))
    result = triton.infer("demo", make_inputs(windows, True),
                          model_version="1")
    checks.true("default output", np.array_equal(result.as_numpy("behavior"),
                                                 expected))
    futures = [triton.async_infer("demo", make_inputs(windows, True))
               for _ in range(16)]
    checks.true("16 at once", all(
        np.array_equal(future.get_result().as_numpy("behavior"), expected)
        for future in futures))


def check_errors(checks, triton, windows):
    def status_of(model, inputs, **options):
        try:
            triton.infer(model, inputs, **options)
            return None, ""
        except InferenceServerException as error:
            return error.status(), error.message()

    status, message = status_of("nobody", make_inputs(windows, True))
    checks.equal("unknown model", status, "404")
    checks.true("names it: " + message, "nobody" in message)
    status, _ = status_of("demo", make_inputs(windows, True),
                          model_version="9")
    checks.equal("unknown version", status, "404")
    bad = dict(windows, neuron_id=windows["neuron_id"] + 4000)
    status, message = status_of("demo", make_inputs(bad, True))
    checks.equal("wrong id", status, "400")
    checks.true("says which: " + message, "neuron_id" in message)
    bad = dict(windows, row_splits=np.array([0, 50, 47], np.int32))
    checks.equal("wrong splits", status_of("demo", make_inputs(bad, False))[0],
                 "400")
    short = make_inputs(windows, True)[:2]
    checks.equal("missing input", status_of("demo", short)[0], "400")
    status, _ = status_of("demo", make_inputs(windows, True), timeout=1)
    checks.equal("impossible deadline", status, "504")


def check_statistics(checks, triton):
    stats = triton.get_inference_statistics("demo")["model_stats"]
    checks.equal("one model", [each["name"] for each in stats], ["demo"])
    # 4 ways, the default and 16 at once, of three windows each.
    checks.equal("windows", stats[0]["inference_count"], 21 * len(LENGTHS))
    success = stats[0]["inference_stats"]["success"]
    checks.equal("requests", success["count"], 21)
    checks.true("time", success["ns"] > 0)
    checks.true("batches", 0 < stats[0]["execution_count"] <= 21)
    every = triton.get_inference_statistics()["model_stats"]
    checks.equal("all models", len(every), 1)


def check_repository(checks, triton):
    index = triton.get_model_repository_index()
    checks.equal("index", [(each["name"], each["state"]) for each in index],
                 [("demo", "READY")])
    triton.load_model("demo")
    checks.true("ready after a second load", triton.is_model_ready("demo"))
    triton.unload_model("demo")
    checks.true("not ready", not triton.is_model_ready("demo"))
    triton.load_model("demo")
    checks.true("ready again", triton.is_model_ready("demo"))
    try:
        triton.load_model("../demo")
        checks.true("a path is no model", False)
    except InferenceServerException:
        checks.true("a path is no model", True)


def main():
    binaries, models = sys.argv[1:3]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_demo(binaries, models, folder)
        windows = make_windows()
        expected = decode_without_server(binaries, folder, program, windows)
        with Server(binaries, program) as server:
            triton = client.InferenceServerClient(
                f"{server.host}:{server.port}", concurrency=16)
            check_metadata(checks, triton)
            check_infer(checks, triton, expected, windows)
            check_statistics(checks, triton)
            check_errors(checks, triton, windows)
            check_repository(checks, triton)
            triton.close()
            checks.equal("exit code", server.stop()[0], 0)
    checks.finish()


if __name__ == "__main__":
    main()
