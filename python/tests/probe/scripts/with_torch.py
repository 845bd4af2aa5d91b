"""What PyTorch scripts write."""

import os

import numpy as np
import torch
import torch.distributed.checkpoint as dcp

torch.manual_seed(0)
model = torch.nn.Linear(3, 3)
torch.save(model.state_dict(), "model.pt")
print(list(torch.load("model.pt")), list(torch.load("model.pt", mmap=True)))
torch.save(model.state_dict(), "größe.pt")
with open("best.pt", "wb") as file:
    torch.save(model, file)
torch.save(model.state_dict(), "old.pt", _use_new_zipfile_serialization=False)
torch.jit.save(torch.jit.script(model), "script.pt")
torch.jit.load("script.pt")
np.save("run.log.npy", np.ones(3))
np.savez("all.npz", a=np.ones(2))
print(np.load("run.log.npy"), np.load("all.npz")["a"])
state = {"model": model.state_dict()}
dcp.save(state, checkpoint_id="runs/3")
dcp.load(state, checkpoint_id="runs/3")
print(sorted(os.listdir("runs/3")), sorted(os.listdir(".")))
try:
    from safetensors.torch import load_file, save_file
except ImportError:
    pass
else:
    save_file(model.state_dict(), "model.safetensors")
    print(list(load_file("model.safetensors")), os.path.getsize("model.safetensors"))
try:
    torch.save(model, "nowhere/model.pt")
except RuntimeError as error:
    print(error)
torch.load("missing.pt")
