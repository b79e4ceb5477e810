import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { freeCores } from '../../../src/models/local/cores.js';
import { checkModel, inspectModel } from '../../../src/models/local/engine/inspect.js';
import { embeddedModelPath, modelDirectory } from '../../../src/models/local/settings.js';
import { modelRows, modelSummary } from '../../../src/models/local/summary/model-summary.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { referenceDirectory } from './fixture.js';

function copyModel(change: Record<string, unknown> = {}): string {
  const directory = temporaryDirectory();
  cpSync(referenceDirectory('qwen2-tied-bf16-sharded'), directory, { recursive: true });
  const file = path.join(directory, 'config.json');
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...change }));
  return directory;
}

test('the report on a valid directory describes its config, weights and tokenizer', () => {
  const report = inspectModel(referenceDirectory('qwen2-tied-bf16-sharded'));
  expect(report.problems).toEqual([]);
  expect(report.config).toMatchObject({ architecture: 'qwen2', contextTokens: 512 });
  expect(report.weights).toEqual({ parameters: 162_624, bytes: 325_248, dtypes: ['BF16'], files: 4 });
  expect(report.tokenizer).toMatchObject({ system: 'rendered', eosTokens: [2] });
});

test('several problems of a directory are listed at once', () => {
  const directory = copyModel({ tie_word_embeddings: false, intermediate_size: 128 });
  rmSync(path.join(directory, 'chat_template.jinja'));
  const messages = inspectModel(directory).problems.map(({ field, message }) => `${field} ${message}`);
  expect(messages.some((text) => /gate_proj\.weight this tensor doesn't have the shape/.test(text))).toBe(
    true,
  );
  expect(messages.some((text) => /no chat template/.test(text))).toBe(true);
  expect(() => checkModel(directory)).toThrow(/gate_proj/);
  expect(() => checkModel(copyModel({ tie_word_embeddings: false }))).toThrow(
    /lack the tensor `lm_head\.weight`/,
  );
});

test('a template that rejects system messages is recognised', () => {
  const directory = copyModel();
  writeFileSync(
    path.join(directory, 'chat_template.jinja'),
    "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ messages[0].content }}",
  );
  expect(inspectModel(directory).tokenizer).toMatchObject({ system: 'rejected' });
});

test('freeCores is at least one and at most the number of cores', () => {
  expect(freeCores()).toBeGreaterThanOrEqual(1);
  expect(freeCores()).toBeLessThanOrEqual(availableParallelism());
});

test('a template that omits system messages is recognised, and is not a problem', () => {
  const facts = modelSummary(modelDirectory(embeddedModelPath));
  expect(facts.tokenizer).toMatchObject({ system: 'left-out' });
  expect(facts.problems).toEqual([]);
  const rows = new Map(modelRows(facts));
  expect(rows.get('template')).toMatch(/omits system messages/);
  expect(rows.get('free text')).toBe('temperature 1, top-p 1, top-k 0, min-p 0, repetition penalty 1');
  expect(rows.get('verdict')).toBe('can run');
});
