"""The checkpoints of Hugging Face's trainer, with the oldest removed."""

import os

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(0)
size = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "num_hidden_layers": 1}
model = BertForSequenceClassification(BertConfig(vocab_size=9, **size))
rows = [{"input_ids": torch.arange(8), "labels": torch.tensor(i % 2)} for i in range(16)]
asked = TrainingArguments(
    "out",
    max_steps=6,
    save_steps=2,
    save_total_limit=1,
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
)
Trainer(model, asked, train_dataset=rows).train()
print("FOUND", sorted(os.listdir("out")), sorted(os.listdir("out/checkpoint-6")))
model.save_pretrained("runs/1")
BertForSequenceClassification.from_pretrained("runs/1")
print("FOUND", sorted(os.listdir("runs/1")))
