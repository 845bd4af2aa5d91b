"""A training that goes on until it is interrupted, and saves all the time."""

import os
import pickle

os.makedirs("out")
step = 0
while True:
    with open("tmp", "wb") as file:
        pickle.dump({"step": step}, file)
    os.replace("tmp", "model.pt")
    with open("run.log", "a") as log:
        log.write(f"{step}\n")
    step += 1
    if step == 20:
        print("ready", flush=True)
