import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadTrainConfig } from '../../../finetune/train/train-config.js';
import { temporaryDirectory } from '../../support/experiments.js';

function load(content: string) {
  const directory = temporaryDirectory();
  const file = join(directory, 'tune.yaml');
  writeFileSync(file, content);
  return { directory, read: () => loadTrainConfig(file) };
}

describe('a training config', () => {
  it('resolves paths relative to its file', () => {
    const { directory, read } = load('{model: base, dataset: data/a, output: /tuned}');
    const { dataset, model, output } = read();
    expect([model, dataset, output]).toEqual([join(directory, 'base'), join(directory, 'data/a'), '/tuned']);
  });

  it('finds a package: model, and rejects one that the package does not contain', () => {
    const { model } = load('{model: "package:models/tiny-improver", dataset: a, output: b}').read();
    expect(existsSync(join(model, 'config.json'))).toBe(true);
    const { read } = load('{model: "package:models/none", dataset: a, output: b}');
    expect(read).toThrow(/contain this model/);
  });

  it('accepts a package: model in an override, but no output inside the package', () => {
    const file = join(temporaryDirectory(), 'tune.yaml');
    writeFileSync(file, '{model: base, dataset: a, output: b}');
    const { model } = loadTrainConfig(file, ['model=package:models/tiny-improver']);
    expect(existsSync(join(model, 'config.json'))).toBe(true);
    expect(() => loadTrainConfig(file, ['output=package:models/mine'])).toThrow(
      /override output=[\s\S]*package/,
    );
  });

  it('accepts observationWeight only with packing=conversations', () => {
    const weighed = (packing: string) =>
      load(`{model: base, dataset: a, output: b, packing: ${packing}, observationWeight: 0.3}`).read;
    expect(weighed('conversations')().observationWeight).toBe(0.3);
    expect(weighed('rows')).toThrow(/observationWeight[\s\S]*requires packing=conversations/);
  });

  it('accepts key=value overrides and reports errors in them', () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'tune.yaml');
    writeFileSync(file, '{model: a, dataset: b, output: c, method: {kind: lora, rank: 4}}');
    const { epochs, method, output } = loadTrainConfig(file, ['epochs=7', 'method.rank=16', 'output=d']);
    expect({ epochs, method, output }).toMatchObject({
      epochs: 7,
      method: { kind: 'lora', rank: 16 },
      output: resolve('d'),
    });
    expect(() => loadTrainConfig(file, ['epochs=none'])).toThrow(/override epochs=none: must be a whole/);
    expect(() => loadTrainConfig(file, ['epoch=2'])).toThrow(/did you mean `epochs`/);
    expect(() => loadTrainConfig(file, ['epochs'])).toThrow(/the form key=value.*method\.rank=16/s);
  });

  it('reports an unknown key with its position and a suggestion', () => {
    expect(load('model: a\ndataset: b\noutput: c\nlearningrate: 1').read).toThrow(
      /tune\.yaml:4:1.*learningrate[\s\S]*did you mean `learningRate`/,
    );
  });
});
