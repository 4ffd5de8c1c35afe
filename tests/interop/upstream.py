# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch's side of the interoperability run: its quantizer, its Cortex-M compiler, its checks of our files.

Everything is called as its own aot_arm_compiler calls it (backends/arm/scripts of executorch 1.5.1).
"""
import copy
import dataclasses
import logging
import warnings

import torch

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config  # noqa: E402
from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager  # noqa: E402
from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer  # noqa: E402
from executorch.backends.cortex_m.target_config import CortexMTargetConfig  # noqa: E402
from executorch.exir import to_edge_transform_and_lower  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402


def channels_last(x):
    return x.to(memory_format=torch.channels_last) if x.dim() == 4 else x


def as_tuple(y):
    return tuple(y) if isinstance(y, (tuple, list)) else (y,)


def quantized(module, samples, explicit, every_output=False):
    """A PT2E-quantized exported program; with every_output it also returns what each of its operators gives."""
    quantizer = CortexMQuantizer(use_explicit_layout=explicit)
    place = (lambda x: x) if explicit else channels_last
    module = copy.deepcopy(module)
    if not explicit:
        module = module.to(memory_format=torch.channels_last)
    samples = [tuple(place(x) for x in sample) for sample in samples]
    graph = torch.export.export(module, samples[0], strict=True).module(check_guards=False)
    prepared = prepare_pt2e(graph, quantizer)
    with torch.no_grad():
        for sample in samples:
            prepared(*sample)
    converted = convert_pt2e(prepared)
    if every_output:
        return_intermediates(converted)
    return torch.export.export(converted, samples[0], strict=True)


def return_intermediates(graph_module):
    """Adds every quantized activation after the model's inputs, dequantized, to a converted module's outputs."""
    ops = torch.ops.quantized_decomposed
    output = next(node for node in graph_module.graph.nodes if node.op == "output")
    returned = list(output.args[0])
    sources = {node.args[0] for node in returned if node.op == "call_function"}
    for node in list(graph_module.graph.nodes):
        source = node.args[0] if node.target == ops.dequantize_per_tensor.default else None
        if source is None or source.target != ops.quantize_per_tensor.default or source in sources:
            continue
        # Its compiler takes a value's readers apart where this is one of several, and makes a program that fails.
        taken_apart = any("hardswish" in str(user.target) for user in node.users)
        if source.args[0].op == "call_function" and not taken_apart:
            sources.add(source)
            with graph_module.graph.inserting_after(node):
                returned.append(graph_module.graph.node_copy(node))  # the model may change its own in place
    output.args = (tuple(returned),)
    graph_module.graph.set_codegen(torch.fx.graph.CodeGen())  # the model's own signature has fewer outputs
    graph_module.recompile()


@dataclasses.dataclass
class Compiled:
    pte: bytes
    outputs: tuple  # what its operators' Python semantics give
    operators: list


def compiled(exported, inputs, cpu, explicit=False):
    """Its program for a CPU ("cortex-m55"), and what that program computes."""
    edge = to_edge_transform_and_lower(copy.deepcopy(exported), compile_config=cortex_m_edge_compile_config())
    target = CortexMTargetConfig.from_target_string(cpu)
    manager = CortexMPassManager(edge.exported_program(), target_config=target, use_explicit_layout=explicit)
    edge._edge_programs["forward"] = manager.transform()
    program = edge.exported_program()
    place = (lambda x: x) if explicit else channels_last
    with torch.no_grad():
        outputs = as_tuple(program.module(check_guards=False)(*(place(x) for x in inputs)))
    operators = sorted({str(node.target) for node in program.graph.nodes if node.op == "call_function"})
    return Compiled(edge.to_executorch().buffer, outputs, operators)


def portable(exported):
    """Its program without a backend: portable operators, as every ExecuTorch runtime has them."""
    from executorch.exir import to_edge
    return to_edge(copy.deepcopy(exported)).to_executorch().buffer


def bundled(pte_file, inputs, outputs):
    """A .bpte of a program with one test case."""
    from executorch.devtools import BundledProgram
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
    suite = MethodTestSuite("forward", [MethodTestCase(list(inputs), list(outputs))])
    return bytes(serialize_from_bundled_program_to_flatbuffer(BundledProgram(None, [suite], pte_file_path=pte_file)))


def read_bundle(data):
    """The program inside, and its test cases as (inputs, outputs), arrays in logical order."""
    import numpy as np
    from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
    bundle = deserialize_from_flatbuffer_to_bundled_program(data)

    def array(value):
        tensor = value.val
        order = list(tensor.dim_order)
        assert tensor.scalar_type.name == "FLOAT"
        lying = np.frombuffer(bytes(tensor.data), np.float32).reshape([tensor.sizes[d] for d in order])
        return lying.transpose(np.argsort(order)) if order else lying

    cases = [([array(x) for x in case.inputs], [array(y) for y in case.expected_outputs])
             for suite in bundle.method_test_suites for case in suite.test_cases]
    return bytes(bundle.program), cases


def check_bundle(data):
    """Its runtime's verdict about a bundle's first test case; it raises if an output is not as expected."""
    from executorch.extension.pybindings.portable_lib import _load_bundled_program_from_buffer
    _load_bundled_program_from_buffer(data, 1 << 20).verify_result_with_bundled_expected_output("forward", 0)
    return []


def use_kernels(library):
    """Registers a library of its Cortex-M kernels with its host runtime."""
    import ctypes
    import executorch.runtime  # noqa: F401, before the library that refers to its symbols
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


def load(data):
    """Its runtime's verdict about a file: the verifier's, and the method's inputs and outputs."""
    from executorch.runtime import Runtime, Verification
    program = Runtime.get().load_program(data, verification=Verification.InternalConsistency)
    return program, program.metadata("forward")


def execute(data, inputs):
    """What its host runtime computes: portable operators, and Cortex-M's after use_kernels()."""
    program, _ = load(data)
    return as_tuple(program.load_method("forward").execute(list(inputs)))


def execute_apart(data, inputs):
    """The same in a child process, because its kernels abort where a check fails; None if this one does not end well."""
    return apart(lambda: [y.contiguous().numpy() for y in execute(data, inputs)])


def apart(function):
    """What a function returns in a child process, or None if that does not end well."""
    import os
    import pickle
    import signal
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(60)
        try:
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(function(), pipe)
            os._exit(0)
        except Exception:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(content) if status == 0 else None


def scratch_sizes(data, cpu):
    """Per operator with scratch: (name, bytes planned in the file, bytes that CMSIS-NN asks for on this CPU)."""
    from executorch.backends.cortex_m.passes.scratch_buffer_sizes import required_cmsis_nn_buffer_sizes
    from executorch.exir._serialize._program import deserialize_pte_binary
    from executorch.exir.dialects._ops import ops as exir_ops
    from executorch.exir.schema import Int, IntList, KernelCall, Null, Tensor
    backend = CortexMTargetConfig.from_target_string(cpu).backend
    plan = deserialize_pte_binary(data).program.execution_plan[0]
    graph = torch.fx.Graph()

    def argument(index):
        value = plan.values[index].val
        if isinstance(value, Tensor):
            node = graph.placeholder(f"value_{index}")
            node.meta["val"] = torch.empty(value.sizes, dtype=torch.int8, device="meta")
            return node
        if isinstance(value, IntList):
            return [plan.values[i].val.int_val for i in value.items]
        return None if isinstance(value, Null) else value.int_val if isinstance(value, Int) else value

    sizes = []
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if not isinstance(call, KernelCall):
            continue
        operator = plan.operators[call.op_index]
        namespace, name = operator.name.split("::")
        if namespace != "cortex_m":
            continue
        target = getattr(exir_ops.edge.cortex_m, name).default
        schema = target._schema.arguments
        scratch = [i for i, a in enumerate(schema) if a.name.endswith("scratch")]
        if not scratch:
            continue
        node = graph.call_function(target, tuple(argument(i) for i in call.args[: len(schema)]))
        out = plan.values[call.args[len(schema)]].val
        node.meta["val"] = torch.empty(out.sizes, dtype=torch.int8, device="meta")
        required = required_cmsis_nn_buffer_sizes(node, backend)
        for position, expected in zip(scratch, required):
            tensor = plan.values[call.args[position]].val
            sizes.append((name, int(torch.tensor(tensor.sizes).prod()), expected))
    return sizes
