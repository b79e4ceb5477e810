/** Promises about the language model that comes with the package. */
import { describe, expect, it } from 'vitest';
import { validityOf } from '../../models/tiny-improver/recipe/measure.js';
import { fullRecipe, shippedModel } from '../../models/tiny-improver/recipe/settings.js';

describe('the embedded model', () => {
  it('gives a valid answer to at least 98 % of prompts without a constraint', async () => {
    const { asked, valid } = await validityOf(shippedModel, 'text', { ...fullRecipe, prompts: 4 });
    expect(asked).toBe(192);
    expect(valid / asked).toBeGreaterThanOrEqual(0.98);
  }, 120_000);

  it('gives only valid answers under a constraint', async () => {
    const { asked, valid } = await validityOf(shippedModel, 'constrained', { ...fullRecipe, prompts: 2 });
    expect(valid).toBe(asked);
  }, 120_000);
});
