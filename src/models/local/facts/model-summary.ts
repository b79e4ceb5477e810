/** One-line summary of a model, for `policyloop models list`. */
import { problemsOf } from '../../../base/errors.js';
import { checkModel, summariseWeights } from '../engine/inspect.js';
import { readDecoderConfig } from '../families/hf-config.js';
import { openWeights } from '../weights/open-weights.js';

export interface ModelSummary {
  readonly parameters?: number;
  readonly bytes?: number;
  /** For example `Q4_K`; most frequent first. */
  readonly dtypes?: readonly string[];
  readonly contextTokens?: number;
  /** The first reason why it can't be run, as far as config and weights show. */
  readonly problem?: string;
}

/** @param model its directory, or a GGUF file; its tokenizer is not read, because that takes seconds */
export function summariseModel(model: string): ModelSummary {
  try {
    const { contextTokens } = readDecoderConfig(model);
    const { parameters, bytes, dtypes } = summariseWeights(openWeights(model));
    const summary = { parameters, bytes, dtypes, contextTokens };
    const problem = problemOf(() => checkModel(model));
    return problem === undefined ? summary : { ...summary, problem };
  } catch (error) {
    return { problem: textOf(error) };
  }
}

function problemOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return textOf(error);
  }
}

/** One line: the field, its value, and the problem. */
function textOf(error: unknown): string {
  const [problem] = problemsOf(error);
  if (problem === undefined) return String(error);
  const { field, value, message } = problem;
  const stated = typeof value === 'string' ? ` ${value.slice(0, 40)}` : '';
  return `no: ${field === undefined || field === 'model.path' ? '' : `${field}${stated}: `}${message}`;
}
