// docs/reference.md: settings, error codes and limits, written from the code that uses
// them. With `--check` it only says whether the page is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as config from '../src/shared/config.ts'
import { errorCodes, outcomes } from '../src/shared/errors.ts'
import { settingsSchema } from '../src/shared/settings.ts'
import { root } from './local-state.mjs'
import { code, table } from './markdown-table.mjs'
import { launcherSettings } from './unknown-settings.mjs'

const page = join(root, 'docs/reference.md')

const text = writePage()
if (!process.argv.includes('--check')) {
  writeFileSync(page, text)
} else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/reference.md is not up to date: run `npm run write-reference`.')
  process.exitCode = 1
}

function writePage() {
  const limitGroups = { ...config }
  return `${[
    '# Reference',
    'Written by `npm run write-reference` from `src/shared/settings.ts`, `src/shared/config.ts` and `src/shared/errors.ts`; tools are in [tools.md](tools.md).',
    '## Settings',
    'Environment variables. A deployed hub takes those that were set when you ran `npm run deploy`: [deploying.md](deploying.md).',
    table(['name', 'default', 'what it does'], describeSettings(settingsSchema)),
    'Read by the commands on your machine only:',
    table(
      ['name', 'default', 'what it does'],
      launcherSettings.map(([name, ...rest]) => [code(name), ...rest]),
    ),
    '## Error codes',
    `An error answer is \`{ success: false, error, code, hint, details? }\`. Bodies are in UTF-8 and not compressed: another charset or
content coding is 415, bytes that are not UTF-8 are 400. \`Allow\` of a 405 names the methods. A path with a slash at its end
is answered with 308 to the one without it.`,
    table(
      ['code', 'status', 'may the same call succeed later?'],
      Object.entries(errorCodes).map(([name, each]) => [
        code(name),
        each.status,
        each.isRetryable ? 'yes' : 'no',
      ]),
    ),
    '## Outcomes of an activation',
    outcomes.map((name) => `- ${code(name)}`).join('\n'),
    '## Limits',
    'The unit is the end of the name.',
    table(
      ['limit', 'value'],
      Object.entries(limitGroups).flatMap(([name, value]) => listLimits(name, value)),
    ),
  ].join('\n\n')}\n`
}

/** @param {typeof settingsSchema} schema */
function describeSettings(schema) {
  const comments = readSettingComments()
  const defaults = /** @type {Record<string, unknown>} */ (schema.safeParse({}).data ?? {})
  return Object.keys(schema.shape).map((name) => {
    const fallback = defaults[name]
    return [code(name), fallback === undefined ? '' : code(fallback), comments.get(name) ?? '']
  })
}

/** The doc comment above each setting. */
function readSettingComments() {
  const source = readFileSync(join(root, 'src/shared/settings.ts'), 'utf8')
  const pattern = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s+([A-Z][A-Z0-9_]+):/g
  return new Map(
    [...source.matchAll(pattern)].map(([, comment = '', name = '']) => [
      name,
      comment.replace(/\s*\n\s*\*\s*/g, ' ').trim(),
    ]),
  )
}

/**
 * @param {string} path
 * @param {unknown} value
 * @returns {(string | number)[][]}
 */
function listLimits(path, value) {
  if (typeof value === 'number') return [[code(path), value.toLocaleString('en-US')]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) => listLimits(`${path}.${key}`, each))
}
