/** promptfoo, whose command reads a config. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { check, client, model, url } from './checks.mjs';

client('promptfoo');
const folder = mkdtempSync(path.join(tmpdir(), 'policyloop-promptfoo-'));
const config = { apiBaseUrl: url, apiKey: 'none', temperature: 0, max_tokens: 60 };
const schema = {
  ...{ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  additionalProperties: false,
};
const json_schema = { name: 'city', strict: true, schema };

/** Runs one prompt and assertion, and returns promptfoo's results. */
function evaluate(provider, more, assertion) {
  const [file, output] = ['config.json', 'output.json'].map((name) => path.join(folder, name));
  const suite = {
    prompts: ['Name a city in {{country}}.'],
    providers: [{ id: `${provider}:${model}`, config: { ...config, ...more } }],
    tests: ['France', 'Spain'].map((country) => ({ vars: { country }, assert: [assertion] })),
  };
  writeFileSync(file, JSON.stringify(suite));
  const env = {
    ...process.env,
    ...{ PROMPTFOO_CONFIG_DIR: folder, PROMPTFOO_DISABLE_TELEMETRY: '1', PROMPTFOO_DISABLE_UPDATE: '1' },
    ...{ PROMPTFOO_DISABLE_REMOTE_GENERATION: '1', PROMPTFOO_PASS_RATE_THRESHOLD: '0' },
  };
  const command = [
    'node_modules/.bin/promptfoo',
    'eval',
    '-c',
    file,
    '-o',
    output,
    '--no-cache',
    '--no-table',
  ];
  execFileSync(command[0], command.slice(1), { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 240_000 });
  return JSON.parse(readFileSync(output, 'utf8')).results.results;
}

function passed(provider, more, assertion) {
  const results = evaluate(provider, more, assertion);
  assert.equal(results.length, 2);
  for (const { error, success } of results) assert(success, error ?? 'failed');
}

const isThere = { type: 'javascript', value: 'output.length > 0' };
await check('chat', () => passed('openai:chat', {}, isThere));
await check('schema', () => {
  const response_format = { type: 'json_schema', json_schema };
  passed(
    'openai:chat',
    { response_format },
    { type: 'javascript', value: 'typeof output.city === "string"' },
  );
});
await check('completions', () => passed('openai:completion', {}, isThere));
await check('responses', () => passed('openai:responses', { max_output_tokens: 60 }, isThere));
rmSync(folder, { recursive: true });
