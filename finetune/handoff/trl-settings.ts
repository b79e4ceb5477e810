/** Translates a training config into settings for `trl sft --config` and `trl dpo --config`. */
import { UserError } from '../../src/base/errors.js';
import type { TrainConfig } from '../train/train-config.js';

export type TrlTrainer = 'sft' | 'dpo';

export interface TrlJob {
  readonly trainer: TrlTrainer;
  readonly config: TrainConfig;
  /** Name of the base model on the other machine: a path there, or a name on the Hub. */
  readonly base: string;
  readonly machines: Machines;
  /** Number of tokens in the longest example; undefined if unknown, in which case lengths aren't limited. */
  readonly longest: number | undefined;
  readonly validates: boolean;
}

/** Paths in the exported folder. */
export const places = { data: 'data', accelerate: 'accelerate.yaml', output: 'output' } as const;

/** @throws UserError for settings that TRL's commands don't support */
export function trlSettings(job: TrlJob): object {
  const { config, trainer, machines } = job;
  return {
    model_name_or_path: job.base,
    ...weights(config),
    dataset_name: `./${places.data}`,
    dataset_train_split: 'train',
    dataset_test_split: 'validation',
    output_dir: places.output,
    // Truncate nothing, because an answer without its end would teach the model not to stop.
    max_length: job.longest ?? null,
    ...(trainer === 'sft'
      ? { completion_only_loss: true, packing: false }
      : { beta: config.objective.kind === 'dpo' ? config.objective.beta : 0.1 }),
    num_train_epochs: config.epochs,
    learning_rate: config.learningRate,
    ...schedule(config),
    warmup_steps: config.warmupSteps,
    optim: optimizer(config),
    weight_decay: config.weightDecay,
    adam_beta1: config.betas[0],
    adam_beta2: config.betas[1],
    adam_epsilon: 1e-8,
    max_grad_norm: config.maxGradientNorm,
    per_device_train_batch_size: machines.perDevice,
    per_device_eval_batch_size: machines.perDevice,
    gradient_accumulation_steps: accumulation(machines, config.batchExamples),
    gradient_checkpointing: true,
    bf16: true,
    seed: config.seed,
    data_seed: config.seed,
    logging_steps: 1,
    report_to: 'none',
    ...(job.validates
      ? { eval_strategy: 'steps', eval_steps: config.evaluateEvery }
      : { eval_strategy: 'no' }),
    save_strategy: 'steps',
    save_steps: config.checkpointEvery,
    save_total_limit: 2,
    accelerate_config: places.accelerate,
  };
}

function weights({ method }: TrainConfig): object {
  switch (method.kind) {
    case 'lora': {
      if (method.adapter !== undefined)
        throw new UserError({
          field: 'method.adapter',
          value: method.adapter,
          message: "TRL's command can't continue an adapter",
          remedy: 'merge it first (policyloop finetune merge), and train the merged model',
        });
      // TRL treats a single name as a regular expression, which would match no module. PEFT ignores duplicates.
      const modules = method.modules.length === 1 ? [...method.modules, ...method.modules] : method.modules;
      return {
        dtype: 'bfloat16',
        use_peft: true,
        lora_r: method.rank,
        lora_alpha: method.alpha,
        lora_dropout: method.dropout,
        lora_target_modules: modules,
        use_rslora: method.rsLora,
      };
    }
    case 'full':
      return { dtype: 'float32', use_peft: false };
    case 'scratch':
      throw new UserError({
        field: 'method.kind',
        message: "TRL can't train from scratch",
        value: method.kind,
        alternatives: ['lora', 'full'],
      });
  }
}

/** The schedule's name and arguments in Transformers. */
function schedule({ schedule: kind, learningRate, learningRateFloor }: TrainConfig): object {
  switch (kind) {
    case 'constant':
      return { lr_scheduler_type: 'constant_with_warmup' };
    case 'linear':
      return learningRateFloor === 0
        ? { lr_scheduler_type: 'linear' }
        : {
            lr_scheduler_type: 'polynomial',
            lr_scheduler_kwargs: { power: 1, lr_end: learningRate * learningRateFloor },
          };
    case 'cosine':
      return learningRateFloor === 0
        ? { lr_scheduler_type: 'cosine' }
        : {
            lr_scheduler_type: 'cosine_with_min_lr',
            lr_scheduler_kwargs: { min_lr_rate: learningRateFloor },
          };
  }
}

function optimizer({ optimizer: { kind } }: TrainConfig): string {
  if (kind === 'adamw') return 'adamw_torch';
  throw new UserError({
    field: 'optimizer.kind',
    message: "TRL doesn't support this optimiser",
    value: kind,
    alternatives: ['adamw'],
  });
}

/** One device; one copy per device; optimiser and gradients sharded (DeepSpeed ZeRO-2); everything sharded (FSDP2). */
type Strategy = 'single_gpu' | 'multi_gpu' | 'zero2' | 'fsdp2';

export interface Machines {
  readonly strategy: Strategy;
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly perDevice: number;
}

export const processesOf = ({ nodes, gpusPerNode }: Machines): number => nodes * gpusPerNode;

/**
 * Gradient accumulation steps per update.
 * @throws UserError if `batchExamples` isn't a multiple of the examples per pass, or `single_gpu` has several devices
 */
export function accumulation(machines: Machines, batchExamples: number): number {
  const processes = processesOf(machines);
  if (machines.strategy === 'single_gpu' && processes > 1) {
    throw new UserError({
      field: '--accelerate',
      message: `single_gpu means one device, not ${processes}`,
      value: machines.strategy,
      alternatives: ['multi_gpu', 'zero2', 'fsdp2'],
    });
  }
  const atOnce = processes * machines.perDevice;
  if (batchExamples % atOnce === 0) return batchExamples / atOnce;
  throw new UserError({
    field: 'batchExamples',
    message: `can't be split into passes of ${processes} × ${machines.perDevice} examples`,
    value: batchExamples,
    remedy: `set batchExamples to a multiple of ${atOnce}, or change --gpus, --nodes, --per-device`,
  });
}

/** Content of `accelerate.yaml`. Settings that differ between nodes are passed on the command line. */
export function accelerateConfig(machines: Machines): object {
  return {
    compute_environment: 'LOCAL_MACHINE',
    debug: false,
    downcast_bf16: 'no',
    ...distributions[machines.strategy],
    machine_rank: 0,
    main_training_function: 'main',
    mixed_precision: 'bf16',
    num_machines: machines.nodes,
    num_processes: processesOf(machines),
    rdzv_backend: 'static',
    same_network: true,
    use_cpu: false,
  };
}

const distributions: Readonly<Record<Strategy, object>> = {
  single_gpu: { distributed_type: 'NO' },
  multi_gpu: { distributed_type: 'MULTI_GPU', gpu_ids: 'all' },
  zero2: {
    distributed_type: 'DEEPSPEED',
    deepspeed_config: {
      // srun already starts one launcher per node.
      deepspeed_multinode_launcher: 'standard',
      offload_optimizer_device: 'none',
      offload_param_device: 'none',
      zero3_init_flag: false,
      zero_stage: 2,
    },
  },
  fsdp2: {
    distributed_type: 'FSDP',
    fsdp_config: {
      fsdp_version: 2,
      fsdp_activation_checkpointing: false,
      fsdp_auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
      fsdp_cpu_ram_efficient_loading: true,
      fsdp_offload_params: false,
      fsdp_reshard_after_forward: true,
      fsdp_state_dict_type: 'FULL_STATE_DICT',
    },
  },
};
