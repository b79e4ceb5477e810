import type { Alarm } from './alarms.js';
import type { Source, Split } from './dataset.js';
import type { Recipe } from './example.js';
import type { RowFormat } from './row-formats.js';
import type { SplitStatistics } from './token-statistics.js';

/** `manifest.json`. Without times and absolute paths of its own: the same runs and options give the same bytes. */
export interface DatasetManifest {
  readonly version: 1;
  readonly kind: 'dataset';
  readonly policyloop: string;
  readonly recipe: Recipe;
  readonly format: RowFormat;
  readonly seed: number;
  /** Transformed copies of each run that is trained on. */
  readonly augment: number;
  /** As they were asked for; absent: the recipe's own. */
  readonly winners?: number;
  readonly lookAhead?: readonly number[];
  readonly sources: readonly Source[];
  readonly duplicates: number;
  /** How tokens were counted. */
  readonly tokens: string;
  readonly statistics: Readonly<Record<Split, SplitStatistics>>;
  readonly alarms: readonly Alarm[];
  readonly files: Readonly<Record<string, WrittenFile>>;
}

export interface WrittenFile {
  readonly rows: number;
  readonly sha256: string;
}
