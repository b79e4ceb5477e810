/** Config for Hugging Face Accelerate, which distributes training over devices. */
import { UserError } from '../../src/base/errors.js';

/**
 * One device; a model copy per device; sharded optimizer states (DeepSpeed ZeRO-2); or everything sharded
 * (PyTorch FSDP2).
 */
type Strategy = 'single_gpu' | 'multi_gpu' | 'zero2' | 'fsdp2';

export interface Machines {
  readonly strategy: Strategy;
  readonly nodes: number;
  readonly gpusPerNode: number;
  /** Examples that a device reads at once. */
  readonly perDevice: number;
}

export const processesOf = ({ nodes, gpusPerNode }: Machines): number => nodes * gpusPerNode;

/**
 * Number of batches to accumulate per update, so each update has exactly `batchExamples` examples.
 * @throws UserError if the examples can't be divided evenly, or the strategy is for one device but there are
 *   several
 */
export function accumulation(machines: Machines, batchExamples: number): number {
  const processes = processesOf(machines);
  if (machines.strategy === 'single_gpu' && processes > 1) {
    throw new UserError({
      field: '--accelerate',
      message: `single_gpu is one device, not ${processes}`,
      value: machines.strategy,
      alternatives: ['multi_gpu', 'zero2', 'fsdp2'],
    });
  }
  const atOnce = processes * machines.perDevice;
  if (batchExamples % atOnce === 0) return batchExamples / atOnce;
  throw new UserError({
    field: 'batchExamples',
    message: `an update of this many examples can't be shared by ${processes} × ${machines.perDevice} at once`,
    value: batchExamples,
    remedy: `set batchExamples to a multiple of ${atOnce}, or change --gpus, --nodes, --per-device`,
  });
}

/** `accelerate.yaml`. Settings that differ between nodes are passed on the command line. */
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
      // srun starts one launcher per node.
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
