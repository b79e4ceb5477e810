/** Checks that the rest of a config is compatible with `adapt`. */
import type { Problem } from '../base/errors.js';
import { plainSampling } from '../models/language-model.js';
import { type LocalConfig, sharesProcess } from '../models/local/settings.js';
import { findBaseline } from '../search/baselines.js';
import type { Config } from './config.js';
import type { AdaptConfig } from './learning/adapt.js';
import { termsOf } from './learning/reward.js';
import type { SingleModelConfig } from './model.js';

type Found = Problem | false | undefined;

export function adaptProblems({
  adapt,
  candidates,
  evaluation,
  model,
}: Config & { readonly model: SingleModelConfig }): readonly Found[] {
  if (adapt === undefined) return [];
  if (model.provider !== 'local') return [otherModel(model)];
  return [
    candidates < 2 && {
      field: 'candidates',
      value: candidates,
      message: 'leaves adapt nothing to learn: it compares the candidates of an iteration',
      remedy: 'raise candidates, e.g. to 8, with fewer iterations; or remove adapt',
    },
    evaluation.racing !== undefined && {
      field: 'evaluation.racing',
      message: 'gives candidates different episodes, and adapt compares them on the same ones',
      remedy: 'remove evaluation.racing or adapt',
    },
    ...samplingProblems(model),
    ...learningProblems(adapt, model),
  ];
}

function otherModel({ provider }: SingleModelConfig): Found {
  const hosted = provider === 'openai' || provider === 'ollama';
  const why = hosted
    ? 'the weights of a hosted model can’t be trained here'
    : provider === 'replayed'
      ? 'a replayed run gives the answers that were recorded, whatever is learnt'
      : findBaseline(provider) !== undefined
        ? 'a baseline has no weights to train'
        : 'a model of your own code has no weights that are known here';
  return {
    field: 'adapt',
    message: `does not go with model.provider ${provider}: ${why}`,
    remedy: 'set model.provider to local, or remove adapt',
  };
}

/** Training assumes plain temperature sampling: without filters, and not greedy. */
function samplingProblems(model: LocalConfig): readonly Found[] {
  const filters = ['topP', 'topK', 'minP', 'repetitionPenalty'] as const;
  return [
    model.temperature === 0 && {
      field: 'model.temperature',
      value: 0,
      message: 'makes all candidates alike, so that adapt has nothing to compare',
      remedy: 'raise it, e.g. to 1, or leave it out',
    },
    ...filters.map(
      (key) =>
        model[key] !== undefined &&
        model[key] !== plainSampling[key] && {
          field: `model.${key}`,
          value: model[key],
          message: 'samples otherwise than the model that adapt trains',
          remedy: `remove model.${key}; model.temperature may stay`,
        },
    ),
    sharesProcess(model) && {
      field: 'model.batch',
      value: model.batch,
      message: 'shares a model with other runs, and adapt trains that of one run',
      remedy: 'remove model.batch or adapt',
    },
    model.quantization === 'float16' && {
      field: 'model.quantization',
      value: model.quantization,
      message: 'can’t be trained over, as float16 is a form for serving',
      alternatives: ['none', 'int8', 'int4', 'int4-block128'],
    },
  ];
}

function learningProblems(
  { epochs, lora, objective: { kind }, reward }: AdaptConfig,
  { adapter }: LocalConfig,
): readonly Found[] {
  return [
    lora !== undefined &&
      adapter !== undefined && {
        field: 'adapt.lora',
        message: 'has no effect: what is trained on is model.adapter, which has a form already',
        remedy: 'remove adapt.lora or model.adapter',
      },
    kind === 'reinforce' &&
      epochs > 1 && {
        field: 'adapt.epochs',
        value: epochs,
        message: 'the gradient of reinforce is right for one step: take grpo for several',
      },
    ...termsOf(reward).map(
      (term, i) =>
        term.kind === 'return' &&
        term.low >= term.high && {
          field: reward.kind === 'sum' ? `adapt.reward.terms.${i}.low` : 'adapt.reward.low',
          value: term.low,
          message: 'must be below high',
        },
    ),
  ];
}
