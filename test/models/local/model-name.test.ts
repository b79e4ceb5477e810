import { expect, it } from 'vitest';
import { modelName } from '../../../src/models/local/process/local-model.js';

it('modelName returns the name of the directory or, in a Hugging Face cache, of the repository', () => {
  expect(modelName('/models/Qwen2.5-0.5B-Instruct/')).toBe('Qwen2.5-0.5B-Instruct');
  expect(modelName('/cache/hub/models--Qwen--Qwen2.5-0.5B/snapshots/7ae557604adf67be')).toBe(
    'Qwen/Qwen2.5-0.5B',
  );
});
