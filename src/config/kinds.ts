/** The kinds of configs: what tells them apart, and the command that takes each. */
interface ConfigKind {
  /** As in "this is …". */
  readonly title: string;
  readonly command: string;
  /** Folder of the ready ones, below `configs/`. */
  readonly folder: string;
  /** The keys that each config of the kind has; they tell it from the other kinds. */
  readonly required: readonly string[];
  /** What to write into an empty file. */
  readonly sample: string;
}

export const configKinds = {
  experiment: {
    title: 'an experiment config',
    command: 'policyloop run',
    folder: '',
    required: ['environment', 'model'],
    sample:
      'for example two lines: `environment: CartPole-v1` and `model: {provider: ollama, name: qwen3:8b}`',
  },
  collection: {
    title: 'a collection config',
    command: 'policyloop finetune collect',
    folder: 'collections',
    required: ['runs', 'tasks', 'proposers'],
    sample: 'begin with a copy of a ready one, configs/collections/synthetic.yaml',
  },
  training: {
    title: 'a training config',
    command: 'policyloop finetune train',
    folder: 'training',
    required: ['model', 'dataset'],
    sample: 'for example two lines: `model: package:models/tiny-improver` and `dataset: ./datasets/mine`',
  },
} as const satisfies Readonly<Record<string, ConfigKind>>;

export type ConfigKindName = keyof typeof configKinds;

export const configKindNames = Object.keys(configKinds) as readonly ConfigKindName[];

/** The one other kind whose required keys all stand there, where those of the expected kind do not. */
export function otherKind(
  content: Readonly<Record<string, unknown>>,
  expected: ConfigKindName,
): ConfigKindName | undefined {
  const isOf = (kind: ConfigKindName) =>
    configKinds[kind].required.every((key) => Object.hasOwn(content, key));
  const fitting = configKindNames.filter(isOf);
  return fitting.length === 1 && fitting[0] !== expected ? fitting[0] : undefined;
}
