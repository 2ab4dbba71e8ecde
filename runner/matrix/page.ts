import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type ProgramType, programTypes } from '../../src/shared/runner-protocol.ts'
import { profiles } from '../profiles/profiles.ts'
import { cases } from './cases.ts'

/** What a program did, by case; with the versions that it was played with. */
export type Results = Partial<
  Record<ProgramType, { version: string; ends: Record<string, string> }>
>

const resultsFile = fileURLToPath(new URL('./results.json', import.meta.url))
const pageFile = fileURLToPath(new URL('../../docs/coding-agents.md', import.meta.url))
const [start, end] = [
  '<!-- matrix: written by `npm run coding-agents:matrix` -->',
  '<!-- /matrix -->',
]

export const readResults = (): Results =>
  existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {}

/** Writes the results and the table of the page. */
export function writeResults(results: Results): void {
  writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(pageFile, toPage(readFileSync(pageFile, 'utf8'), results))
}

/** Returns what is out of date: the page, or versions that were not played. Empty when nothing is. */
export function findOutdated(): string[] {
  const results = readResults()
  const page = readFileSync(pageFile, 'utf8')
  const pinned = programTypes.flatMap((type) => {
    const version = readPinnedVersion(type)
    const played = results[type]?.version
    return version === null || version === played
      ? []
      : [`${type} ${version} is pinned, and ${played ?? 'nothing'} was played`]
  })
  const isWritten = toPage(page, results) === page
  return [...pinned, ...(isWritten ? [] : ['docs/coding-agents.md does not have the results'])]
}

function readPinnedVersion(type: ProgramType): string | null {
  const { packageName } = profiles[type]
  if (packageName === null) return null
  const path = fileURLToPath(new URL(`../programs/${type}/package-lock.json`, import.meta.url))
  return JSON.parse(readFileSync(path, 'utf8')).packages[`node_modules/${packageName}`].version
}

function toPage(page: string, results: Results): string {
  const from = page.indexOf(start)
  const to = page.indexOf(end)
  if (from === -1 || to === -1) throw new Error('docs/coding-agents.md has no place for the matrix')
  return `${page.slice(0, from + start.length)}\n\n${toTable(results)}\n\n${page.slice(to)}`
}

function toTable(results: Results): string {
  const played = programTypes.filter((type) => results[type])
  const rows = [
    ['', ...played.map((type) => `${type} ${results[type]?.version}`)],
    ...cases.map(({ name, title }) => [
      title,
      ...played.map((type) => results[type]?.ends[name] ?? 'not played'),
    ]),
  ]
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const [head = [], ...others] = rows
  return [head, widths.map((width) => '-'.repeat(width)), ...others]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
    .join('\n')
}
