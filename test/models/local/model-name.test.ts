import { expect, it } from 'vitest';
import { modelName } from '../../../src/models/local/process/local-model.js';

it('modelName returns the directory name, or the repository of a Hugging Face cache', () => {
  expect(modelName('/models/Qwen2.5-0.5B-Instruct/')).toBe('Qwen2.5-0.5B-Instruct');
  expect(modelName('/cache/hub/models--Qwen--Qwen2.5-0.5B/snapshots/7ae557604adf67be')).toBe(
    'Qwen/Qwen2.5-0.5B',
  );
});
