import { append } from '../../../base/append.js';
import { type Problem, problemsOf, UserError } from '../../../base/errors.js';
import { sum } from '../../../statistics/descriptive.js';
import { readDecoderConfig } from '../families/hf-config.js';
import { decoderTensors, requireTensor } from '../graph/parameters.js';
import { type ChatTokenizer, openTokenizer } from '../tokens/tokenizer.js';
import type { DecoderConfig } from '../weights/decoder-config.js';
import { openWeights } from '../weights/gguf-tensors.js';
import type { StoredTensors } from '../weights/safetensors.js';

export type SystemMessageSupport = 'rendered' | 'left-out' | 'rejected';

export interface ModelReport {
  readonly directory: string;
  readonly config?: DecoderConfig;
  readonly weights?: {
    readonly parameters: number;
    readonly bytes: number;
    /** Examples: `BF16`, `F32`; sorted by number of parameters, largest first. */
    readonly dtypes: readonly string[];
    readonly files: number;
  };
  readonly tokenizer?: {
    readonly file: string;
    readonly templateFile: string;
    /** The chat template's treatment of system messages. */
    readonly system: SystemMessageSupport;
    readonly eosTokens: readonly number[];
  };
  /** Problems that prevent the model from running; empty if there are none. */
  readonly problems: readonly Problem[];
}

/** Returns the result of `read`. If it throws, adds its problems to the list and returns undefined. */
export function attempt<T>(read: () => T, problems: Problem[]): T | undefined {
  try {
    return read();
  } catch (error) {
    append(problems, problemsOf(error));
    return undefined;
  }
}

/** Inspects a model without loading all of its weights. Never throws: errors are reported as `problems`. */
export function inspectModel(directory: string, ignoredKeys: readonly string[] = []): ModelReport {
  const problems: Problem[] = [];
  const config = attempt(() => readDecoderConfig(directory, ignoredKeys), problems);
  const weights = config && attempt(() => openWeights(directory), problems);
  if (config !== undefined && weights !== undefined) append(problems, tensorProblems(config, weights));
  const tokenizer = config && attempt(() => openTokenizer(directory), problems);
  // A token without a row in the embedding would make a generation fail.
  if (tokenizer !== undefined && tokenizer.largestId >= config!.vocabulary)
    problems.push({
      file: tokenizer.file,
      field: 'added_tokens',
      value: tokenizer.largestId,
      message: `the tokenizer has a token with this id, but the model's embedding has only ${config!.vocabulary} rows`,
      hint: 'use the tokenizer that was published with these weights',
    });
  return {
    directory,
    ...(config && { config }),
    ...(weights && { weights: summarizeWeights(weights) }),
    ...(tokenizer && {
      tokenizer: {
        file: tokenizer.file,
        templateFile: tokenizer.template.file,
        system: systemMessageSupport(tokenizer.template),
        eosTokens: tokenizer.eosTokens,
      },
    }),
    problems,
  };
}

/** @throws UserError if the config, or a tensor's name, type or shape, shows that the model can't be run */
export function checkModel(directory: string, ignoredKeys: readonly string[] = []): void {
  const config = readDecoderConfig(directory, ignoredKeys);
  const problems = tensorProblems(config, openWeights(directory));
  if (problems.length > 0) throw new UserError(problems);
}

/** Finds up to 5 problems with tensors that the config requires: missing, unsupported, or of a different shape. */
function tensorProblems(config: DecoderConfig, weights: StoredTensors): Problem[] {
  const problems: Problem[] = [];
  for (const { name, shape } of decoderTensors(config)) {
    try {
      const tensor = requireTensor(weights, name);
      if (tensor.shape.join() !== shape.join())
        problems.push({
          file: tensor.file,
          field: name,
          value: tensor.shape,
          message: "this tensor doesn't have the shape that the config requires",
          alternatives: [`[${shape.join(', ')}]`],
        });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      append(problems, error.problems);
    }
    if (problems.length >= 5) break;
  }
  return problems;
}

export function summarizeWeights(weights: StoredTensors): NonNullable<ModelReport['weights']> {
  const tensors = [...weights.values()];
  const counts = new Map<string, number>();
  for (const { dtype, shape } of tensors) counts.set(dtype, (counts.get(dtype) ?? 0) + product(shape));
  return {
    parameters: sum([...counts.values()]),
    bytes: sum(tensors.map(({ length }) => length)),
    dtypes: [...counts].sort((a, b) => b[1] - a[1]).map(([dtype]) => dtype),
    files: new Set(tensors.map(({ file }) => file)).size,
  };
}

const product = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

function systemMessageSupport(template: ChatTokenizer['template']): SystemMessageSupport {
  try {
    const [systemText, userText] = ['what-the-system-says', 'what-the-user-asks'];
    const rendered = template.render([
      { role: 'system', content: systemText },
      { role: 'user', content: userText },
    ]);
    return rendered.includes(systemText) ? 'rendered' : 'left-out';
  } catch {
    return 'rejected';
  }
}
