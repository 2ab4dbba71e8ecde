// docs/reference.md: settings, error codes, tools and limits, written from the code that uses
// them. With `--check` it only says whether the page is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import * as config from '../src/config.ts'
import { errorCodes, outcomes } from '../src/errors.ts'
import { settingsSchema } from '../src/settings.ts'
import { root } from './local-state.mjs'
import { launcherSettings } from './unknown-settings.mjs'

const page = join(root, 'docs/reference.md')

const text = await writePage()
if (!process.argv.includes('--check')) {
  writeFileSync(page, text)
} else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/reference.md is not up to date: run `npm run write-reference`.')
  process.exitCode = 1
}

async function writePage() {
  const limitGroups = { ...config }
  return `${[
    '# Reference',
    'Written by `npm run write-reference` from `src/settings.ts`, `src/config.ts`, `src/errors.ts` and the tools.',
    '## Settings',
    'Environment variables. A deployed hub takes them from `[vars]` in `wrangler.toml`, secrets from `wrangler secret put`.',
    table(['name', 'default', 'what it does'], describeSettings(settingsSchema)),
    'Read by the commands on your machine only:',
    table(
      ['name', 'default', 'what it does'],
      launcherSettings.map(([name, ...rest]) => [code(name), ...rest]),
    ),
    '## Error codes',
    'An error answer is `{ success: false, error, code, hint, details? }`.',
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
    '## Tools',
    'What an agent may call when its grants allow it; the same tools are at `/mcp/<server>` for outside agents.',
    table(['tool', 'grant', 'what it does'], await describeTools()),
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
  const source = readFileSync(join(root, 'src/settings.ts'), 'utf8')
  const pattern = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s+([A-Z][A-Z0-9_]+):/g
  return new Map(
    [...source.matchAll(pattern)].map(([, comment = '', name = '']) => [
      name,
      comment.replace(/\s*\n\s*\*\s*/g, ' ').trim(),
    ]),
  )
}

/** The tools, from the same registration that the gateway reads. */
async function describeTools() {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src/mcp-servers/servers.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    external: ['cloudflare:*'],
  })
  const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  /** @type {typeof import('../src/mcp-servers/servers.ts')} */
  const { servers } = await import(`data:text/javascript;base64,${source}`)
  return servers.flatMap((server) =>
    server.tools.map((tool) => [
      code(`${server.name}_${tool.name}`),
      code(tool.grantShape),
      tool.description,
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

/** @param {unknown} value */
function code(value) {
  return `\`${value}\``
}

/**
 * @param {string[]} head
 * @param {unknown[][]} rows
 */
function table(head, rows) {
  const line = (/** @type {unknown[]} */ cells) =>
    `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|').replace(/\s+/g, ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
