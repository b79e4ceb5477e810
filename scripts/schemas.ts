/** Writes the JSON schemas of config files, for editors; `prepare` runs it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { numericKind } from '../finetune/rl/numeric/numeric-config.js';
import { proposerKind } from '../finetune/rl/proposer/proposer-config.js';
import { rlKind } from '../finetune/rl/rl-config.js';
import { trainingKind } from '../finetune/train/train-config.js';
import { playKind } from '../src/agents/play-config.js';
import { packageRoot } from '../src/base/package.js';
import { experimentKind } from '../src/config/config.js';
import { schemaJson } from './reference.js';

const configs = {
  schema: schemaJson(experimentKind.json, 'config'),
  'training.schema': schemaJson(trainingKind.json, 'training'),
  'play.schema': schemaJson(playKind.json, 'play'),
  // `finetune rl` trains an agent, a proposer or a numeric policy.
  'rl.schema': schemaJson({ anyOf: [rlKind.json, proposerKind.json, numericKind.json] }, 'rl'),
};

for (const [name, text] of Object.entries(configs)) {
  writeFileSync(join(packageRoot(), 'configs', `${name}.json`), text);
}
