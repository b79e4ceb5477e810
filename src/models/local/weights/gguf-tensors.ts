/** Tensors of a GGUF file under the names that Hugging Face gives them, which the decoder asks for. */
import { UserError } from '../../../base/errors.js';
import type { GgufFile } from './gguf.js';
import { ggufArchitecture, ggufHeadDim } from './gguf-config.js';
import { ggufFamilies } from './gguf-families.js';
import type { StoredTensor, StoredTensors } from './safetensors.js';

/** Modules of a layer: Hugging Face's name by llama.cpp's. */
const layerModules: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};

const otherModules: Readonly<Record<string, string>> = {
  token_embd: 'model.embed_tokens',
  output_norm: 'model.norm',
  output: 'lm_head',
};

/** Tensors that are read elsewhere, or not needed. */
const apart = /^rope_(freqs|factors_long|factors_short)\.weight$|^blk\.\d+\.attn_rot_embd$/;

/** @throws UserError naming a tensor that the decoder has no use for */
export function ggufTensors(gguf: GgufFile): StoredTensors {
  const { interleaved, modules } = ggufFamilies[ggufArchitecture(gguf)]!;
  const names = { ...layerModules, ...modules };
  const headDim = ggufHeadDim(gguf);
  const tensors = new Map<string, StoredTensor>();
  for (const tensor of gguf.tensors.values()) {
    if (apart.test(tensor.name)) continue;
    const name = hfName(tensor.name, names);
    if (name === undefined)
      throw new UserError({
        file: tensor.file,
        field: tensor.name.slice(0, 80),
        message: 'this tensor is not understood, so the model would be computed without it',
        remedy: 'serve this model with llama-server or Ollama and use the provider `openai` or `ollama`',
      });
    const turned = interleaved && /\.self_attn\.[qk]_proj\./.test(name);
    tensors.set(name, { ...tensor, name, ...(turned && { interleaved: headDim }) });
  }
  return tensors;
}

function hfName(name: string, modules: Readonly<Record<string, string>>): string | undefined {
  const layer = /^blk\.(\d{1,5})\.([a-z_]+)\.(weight|bias)$/.exec(name);
  if (layer !== null) {
    const module = modules[layer[2]!];
    return module && `model.layers.${Number(layer[1])}.${module}.${layer[3]}`;
  }
  const other = /^([a-z_]+)\.weight$/.exec(name);
  const module = other === null ? undefined : otherModules[other[1]!];
  return module && `${module}.weight`;
}
