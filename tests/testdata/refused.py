# SPDX-License-Identifier: Apache-2.0
"""Models whose buffers cannot be state of a program. usage: refused.py FOLDER (with zoo/ in PYTHONPATH)"""
import sys

import torch
from portable import make_portable
from torch._higher_order_ops.while_loop import while_loop


class Cond(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.zeros(1, 4))

    def forward(self, x):
        level = torch.cond(x.sum() > 0, lambda x, l: l + x, lambda x, l: l * 1.0, (x, self.level))
        self.level.copy_(level)
        return x + self.level


class Grows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 4))

    def forward(self, x):
        self.seen = torch.cat([self.seen, x], 0)
        return self.seen.sum(0)


class While(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.zeros(1, 4))

    def forward(self, x):
        def body(i, y):
            return i + 1, y * 0.5 + self.level

        _, y = while_loop(lambda i, y: i < 3, body, (torch.tensor(0), x))
        self.level.copy_(y)
        return y * 1.0


class Outer(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


# An assignment to a buffer of a module inside another one is not in the exported file at all.
for name, module in (("under_cond", Outer(Cond())), ("that_grows", Grows()), ("under_while", Outer(While()))):
    path = f"{sys.argv[1]}/buffer_{name}.pt2"
    torch.export.save(torch.export.export(module.eval(), (torch.randn(1, 4),)), path)
    make_portable(path)
