/** Translates a training config into arguments of TRL's `SFTConfig` or `DPOConfig`, and of PEFT's `LoraConfig`. */
import { UserError } from '../../../src/base/errors.js';
import type { TrainConfig } from '../../train/train-config.js';

export interface TrlSettings {
  readonly batchExamples: number;
  readonly training: Readonly<Record<string, unknown>>;
  /** Undefined if all weights are trained. */
  readonly lora: Readonly<Record<string, unknown>> | undefined;
}

/** @throws UserError for settings that TRL doesn't support */
export function trlSettings(
  config: TrainConfig,
  trainer: 'sft' | 'dpo',
  examples: { readonly train: number; readonly validation: number },
): TrlSettings {
  const { batchExamples, epochs, maxSteps = Number.POSITIVE_INFINITY, method, objective, optimizer } = config;
  const isLimited = maxSteps < epochs * Math.ceil(examples.train / batchExamples);
  if (optimizer.kind !== 'adamw') throw unsupportedSetting('optimizer.kind', optimizer.kind, ['adamw']);
  if (method.kind === 'scratch') throw unsupportedSetting('method.kind', method.kind, ['lora', 'full']);
  return {
    batchExamples,
    lora: loraSettings(method),
    training: {
      output_dir: 'output',
      model_init_kwargs: { dtype: method.kind === 'lora' ? 'bfloat16' : 'float32' },
      // Truncate nothing, because a reply without its end would teach the model not to stop.
      max_length: null,
      ...(trainer === 'sft'
        ? { completion_only_loss: true, packing: false }
        : { beta: objective.kind === 'dpo' ? objective.beta : 0.1 }),
      ...(isLimited ? { max_steps: maxSteps } : { num_train_epochs: epochs }),
      learning_rate: config.learningRate,
      ...scheduleArguments(config),
      warmup_steps: config.warmupSteps,
      weight_decay: config.weightDecay,
      adam_beta1: config.betas[0],
      adam_beta2: config.betas[1],
      adam_epsilon: 1e-8,
      max_grad_norm: config.maxGradientNorm,
      per_device_train_batch_size: 1,
      gradient_checkpointing: true,
      bf16: true,
      seed: config.seed,
      logging_steps: 1,
      report_to: 'none',
      ...(examples.validation > 0 && { eval_strategy: 'steps', eval_steps: config.evaluateEvery }),
      save_steps: config.checkpointEvery,
      save_total_limit: 2,
    },
  };
}

function loraSettings(method: TrainConfig['method']): TrlSettings['lora'] {
  if (method.kind !== 'lora') return undefined;
  if (method.adapter !== undefined)
    throw unsupportedSetting('method.adapter', method.adapter, ['none: merge it first, with --to merged']);
  return {
    r: method.rank,
    lora_alpha: method.alpha,
    lora_dropout: 'dropout' in method ? method.dropout : 0,
    target_modules: method.modules,
    use_rslora: method.rsLora,
    task_type: 'CAUSAL_LM',
  };
}

/** The schedule's name and arguments in Transformers. */
function scheduleArguments({ schedule: kind, learningRate, learningRateFloor }: TrainConfig): object {
  if (kind === 'constant') return { lr_scheduler_type: 'constant_with_warmup' };
  if (learningRateFloor === 0) return { lr_scheduler_type: kind };
  return kind === 'linear'
    ? {
        lr_scheduler_type: 'polynomial',
        lr_scheduler_kwargs: { power: 1, lr_end: learningRate * learningRateFloor },
      }
    : {
        lr_scheduler_type: 'cosine_with_min_lr',
        lr_scheduler_kwargs: { min_lr_rate: learningRateFloor },
      };
}

const unsupportedSetting = (field: string, value: string, alternatives: readonly string[]) =>
  new UserError({ field, value, message: "TRL doesn't support this", alternatives });
