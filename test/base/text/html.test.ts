import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeHtml, html, jsonForScript, preformatted, render } from '../../../src/base/text/html.js';
import { unescapeHtml } from '../../web/report/markup.js';

describe('html', () => {
  it('escapes text and attributes, but not its own markup', () => {
    const name = `"><img src=x onerror='alert(1)'>`;
    const page = render(html`<p title="${name}">${name}${html`<b>${1}</b>`}${[html`<i>a</i>`, 'b']}</p>`);
    expect(page).toBe(
      `<p title="&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;">&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;<b>1</b><i>a</i>b</p>`,
    );
  });

  it('renders undefined and false as nothing', () => {
    expect(render(html`<p>${undefined}${false}${0}</p>`)).toBe('<p>0</p>');
  });

  it('does not mistake a forged object for markup', () => {
    const forged = JSON.parse('{"markup":"<img>","description":"markup"}') as string;
    expect(render([html`<p>${forged}</p>`])).not.toContain('<img>');
  });

  it('escapes any text so that it reads back (NUL becomes U+FFFD)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = escapeHtml(text);
        expect(escaped).not.toMatch(/[<>"'`\0]/);
        expect(unescapeHtml(escaped)).toBe(text.replaceAll('\0', '\u{fffd}'));
      }),
    );
  });

  it('keeps a leading line break in preformatted text', () => {
    expect(render(preformatted('\na'))).toBe('<pre tabindex="0">\n\na</pre>');
  });
});

describe('jsonForScript', () => {
  it('parses back, and contains nothing that ends a script or starts a comment', () => {
    const value = { a: '</script><script>alert(1)</script><!--', b: '\u2028\u2029', c: '\ud800' };
    const text = jsonForScript(value);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/[<>&\u2028\u2029]/);
  });

  it('parses back for any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(jsonForScript(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
