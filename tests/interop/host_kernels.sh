#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds ExecuTorch's Cortex-M kernels for this machine, from its public sources and outside of our tree: a shared library
# that registers them with the runtime of the Python package, which then executes quantized programs. CMSIS-NN's plain C
# is what a Cortex-M0 runs: programs for CPUs without DSP and MVE are at home there. Its kernels' runtime checks are on,
# so that scratch of another size than CMSIS-NN wants is an error.
#
#   host_kernels.sh PYTHON FOLDER      prints the library's path
#
# FOLDER/executorch and FOLDER/CMSIS-NN are cloned unless they are there.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '/^#   /s/^#   //p' "$0" >&2; exit 2; }
python=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
library=$folder/libcortex_m_kernels.so
if [ -e "$library" ]; then
  echo "$library"
  exit
fi
mkdir -p "$folder/objects" "$folder/include"
[ -e "$folder/executorch" ] ||
  git clone --quiet --depth 1 --branch v1.5.1 https://github.com/pytorch/executorch "$folder/executorch" >&2
[ -e "$folder/CMSIS-NN" ] || git clone --quiet https://github.com/ARM-software/CMSIS-NN "$folder/CMSIS-NN" >&2
ln -sfn ../executorch "$folder/include/executorch"
package=$("$python" -c 'import importlib.util as i; print(i.find_spec("executorch").submodule_search_locations[0])')
operators=$folder/executorch/backends/cortex_m/ops
c_flags=(-O2 -fPIC -w "-I$folder/CMSIS-NN/Include")
flags=("${c_flags[@]}" -std=c++17 "-I$package/include" "-I$package/include/executorch/runtime/core/portable_type/c10"
       "-I$folder/include" "-I$operators" -DC10_USING_CUSTOM_GENERATED_MACROS -DCORTEX_M_ENABLE_RUNTIME_CHECKS)

# A file per operator: its source, and a line that registers the overload that takes a context.
for source in "$operators"/op_*.cpp; do
  {
    echo "#include \"$(basename "$source")\""
    echo '#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>'
    echo 'template <class T, class... A>'
    echo 'constexpr auto with_context(T (*function)(executorch::runtime::KernelRuntimeContext&, A...)) { return function; }'
    grep -oE '^Tensor& [a-z0-9_]+_out\(' "$source" | sed 's/^Tensor& //; s/_out($//' | sort -u | while read -r name; do
      echo "static constexpr auto k_$name = with_context(cortex_m::native::${name}_out);"
      echo "EXECUTORCH_LIBRARY(cortex_m, \"$name.out\", k_$name);"
    done
  } >"$folder/objects/register_$(basename "$source")"
done

find "$folder/CMSIS-NN/Source" -name '*.c' -not -path '*/Bindings/*' -not -name '*_f16*' -not -name '*_f32*' \
  -not -name '*_flt*' -print0 |
  xargs -0 -P "$(nproc)" -I{} bash -c 'gcc '"${c_flags[*]}"' -c {} -o '"$folder"'/objects/$(basename {}).o'
find "$folder/objects" "$folder/executorch/kernels/portable/cpu/util" \( -name 'register_op_*.cpp' \
  -o -name broadcast_util.cpp -o -name repeat_util.cpp -o -name kernel_ops_util.cpp -o -name delinearize_index.cpp \
  -o -name dtype_util.cpp \) -print0 |
  xargs -0 -P "$(nproc)" -I{} bash -c 'g++ '"${flags[*]}"' -c {} -o '"$folder"'/objects/$(basename {}).o'
g++ -shared -Wl,--no-undefined -o "$library" "$folder"/objects/*.o -L"$package/lib" -lexecutorch -Wl,-rpath,"$package/lib"
echo "$library"
