/** Formats that the rows of a dataset can be written in. Imports nothing, so that the command line can list them. */
export const rowFormats = [
  'jsonl',
  'parquet',
  'trl-sft',
  'trl-dpo',
  'trl-kto',
  'trl-sft-parquet',
  'trl-dpo-parquet',
  'trl-kto-parquet',
  'openai-sft',
  'openai-dpo',
] as const;
export type RowFormat = (typeof rowFormats)[number];
