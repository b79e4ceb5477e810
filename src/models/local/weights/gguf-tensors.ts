/** Tensors of a GGUF file, by the Hugging Face names that the decoder uses. */
import { UserError } from '../../../base/errors.js';
import { type GgufFile, isGguf, openGguf } from './gguf.js';
import { ggufArchitecture, ggufHeadDim } from './gguf-config.js';
import { ggufFamilies } from './gguf-families.js';
import { directoryWeights, type StoredTensor, type StoredTensors } from './safetensors.js';

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

/** Tensors that are read elsewhere or aren't needed, such as the vision part and layers for multi-token prediction. */
const skippedNames =
  /^rope_(freqs|factors_long|factors_short)\.weight$|^blk\.\d+\.(attn_rot_embd$|nextn\.)|^(v|mm|mtp)\./;

interface TensorNames {
  readonly modules: Readonly<Record<string, string>>;
  readonly tensors: Readonly<Record<string, string>>;
  readonly others: Readonly<Record<string, string>>;
  readonly layers: string;
}

function namesOf(architecture: string): TensorNames {
  const { modules, tensors = {}, others, layers = 'model.layers' } = ggufFamilies[architecture]!;
  return {
    modules: { ...layerModules, ...modules },
    tensors,
    // If a module has two names, the family's own name comes first.
    others: { ...others, ...otherModules, ...others },
    layers,
  };
}

function ggufTensors(gguf: GgufFile): StoredTensors {
  const architecture = ggufArchitecture(gguf);
  const names = namesOf(architecture);
  const { interleaved } = ggufFamilies[architecture]!;
  const headDim = ggufHeadDim(gguf);
  const extraLayers = Number(gguf.metadata.get(`${architecture}.nextn_predict_layers`) ?? 0);
  const layers = Number(gguf.metadata.get(`${architecture}.block_count`)) - extraLayers;
  const tensors = new Map<string, StoredTensor>();
  for (const tensor of gguf.tensors.values()) {
    const layer = Number(/^blk\.(\d{1,5})\./.exec(tensor.name)?.[1] ?? 0);
    if (skippedNames.test(tensor.name) || (extraLayers > 0 && layer >= layers)) continue;
    const name = hfName(tensor.name, names);
    if (name === undefined)
      throw new UserError({
        file: tensor.file,
        field: tensor.name.slice(0, 80),
        message: 'unknown tensor that may change what the model computes',
        hint: 'serve this model with llama-server or Ollama and use the provider `openai` or `ollama`',
      });
    const isInterleaved = interleaved && /\.self_attn\.[qk]_proj\./.test(name);
    const { shape } = tensor;
    // In Hugging Face's files, a convolution has a dimension of 1 between channels and tokens.
    const isConvolution = /\.conv1d\.weight$/.test(name) && shape.length === 2;
    tensors.set(name, {
      ...tensor,
      name,
      shape: isConvolution ? [shape[0]!, 1, shape[1]!] : shape,
      ...(isInterleaved && { interleaved: headDim }),
    });
  }
  return tensors;
}

function hfName(name: string, { modules, tensors, others, layers }: TensorNames): string | undefined {
  const layerMatch = /^blk\.(\d{1,5})\.(.+)$/.exec(name);
  const [, path, part] = /^(.+)\.(weight|bias)$/.exec(layerMatch?.[2] ?? name) ?? [];
  if (layerMatch === null) {
    const other = path && others[path];
    return other && `${other}.${part}`;
  }
  const prefix = `${layers}.${Number(layerMatch[1])}`;
  const tensor = tensors[layerMatch[2]!];
  if (tensor !== undefined) return `${prefix}.${tensor}`;
  const module = path && modules[path];
  return module && `${prefix}.${module}.${part}`;
}

/** Returns a tensor's name in llama.cpp. @throws Error if it has none */
export function ggufName(architecture: string, name: string): string {
  const { modules, tensors, others, layers } = namesOf(architecture);
  const find = (names: Readonly<Record<string, string>>, wanted: string) =>
    Object.keys(names).find((key) => names[key] === wanted);
  const [, module, part] = /^(.*)\.(weight|bias)$/.exec(name) ?? [];
  if (!name.startsWith(`${layers}.`)) {
    const other = module && find(others, module);
    if (other) return `${other}.${part}`;
  } else {
    const [, layer, rest] = /^(\d+)\.(.*)$/.exec(name.slice(layers.length + 1))!;
    const tensor = find(tensors, rest!);
    if (tensor !== undefined) return `blk.${layer}.${tensor}`;
    const tensorName = find(modules, rest!.replace(/\.(weight|bias)$/, ''));
    if (tensorName !== undefined) return `blk.${layer}.${tensorName}.${part}`;
  }
  throw new Error(`llama.cpp has no name for ${name}`);
}

/** Opens the tensors of a model's text part, by Hugging Face name. @throws UserError if the weights are unusable */
export function openWeights(model: string): StoredTensors {
  if (!isGguf(model)) return directoryWeights(model);
  return ggufTensors(openGguf(model));
}
