import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import type { HubClient } from '../client.ts'
import { HubError } from '../errors.ts'
import { CommandError } from './command.ts'
import { readSharedSkills } from './shared-skills.ts'

/** Text by path, with forward slashes. */
export type Files = Record<string, string>

/** Reads the files of a folder. @throws CommandError when there is no such folder */
function readFolder(folder: string): Files {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CommandError('usage', `There is no folder ${folder}.`)
  }
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && /\.(ya?ml|md)$/.test(entry.name))
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [relative(folder, path).replaceAll('\\', '/'), readFileSync(path, 'utf8')]
    }),
  )
}

/** Reads a definition: the files of its folder, and the skills that it shares with others. */
export function readDefinition(folder: string): Files {
  const own = readFolder(folder)
  return { ...own, ...readSharedSkills(folder, own) }
}

/** Returns the name of the agent of a folder: what its `config.yaml` says, else the folder's. */
export const findAgentName = (folder: string, files: Files): string =>
  /^name:\s*["']?([\w-]+)/m.exec(files['config.yaml'] ?? '')?.[1] ?? basename(resolve(folder))

export interface Push {
  name: string
  /** The version that it is now; null when the hub did not load it. */
  version: number | null
  /** Warnings, a line each: `config.yaml:3:brain.model: …`. */
  warnings: string[]
  /** Why the hub did not load it: the version before stays active. */
  error: HubError | null
}

/** Sends a folder to the hub, which checks it and keeps the version before when it is broken. */
export const pushFolder = (client: HubClient, folder: string): Promise<Push> => {
  const files = readDefinition(folder)
  return pushFiles(client, findAgentName(folder, files), files)
}

/** Sends files. @param base the version that they started from, 0 for none: another one is not replaced */
export async function pushFiles(
  client: HubClient,
  name: string,
  files: Files,
  base?: number,
): Promise<Push> {
  const body = { files, ...(base !== undefined && { base_version: base }) }
  const pushed = await client.try('PUT /agents/:name/definition', { params: { name }, body })
  if (!pushed.ok) return { name, version: null, warnings: [], error: pushed.error }
  const warnings = pushed.answer.warnings.map(({ path, message }) => `${path}: ${message}`)
  return { name, version: pushed.answer.definition.version, warnings, error: null }
}

/** Reads the files of an agent's active definition. @throws HubError */
export async function fetchFiles(client: HubClient, name: string): Promise<Files> {
  const { files } = await client.call('GET /agents/:name/definition', { params: { name } })
  if (files && Object.keys(files).length > 0) return files
  const message = `The hub does not have the files of ${name}.`
  throw new HubError(message, { code: 'NOT_FOUND', status: 404, hint: 'Push its folder again.' })
}

/** Writes files into a folder, and deletes the files of a definition that are in it and not among them. */
export function writeFolder(folder: string, files: Files): void {
  const isThere = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
  const old = isThere ? Object.keys(readFolder(folder)) : []
  for (const path of old.filter((each) => files[each] === undefined)) rmSync(join(folder, path))
  for (const [path, text] of Object.entries(files)) {
    const target = resolve(folder, path)
    // The hub's answer must not write elsewhere.
    if (!target.startsWith(resolve(folder) + sep)) {
      throw new CommandError('refused', `The hub sent a file outside of the folder: ${path}.`)
    }
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
}

/** Compares two versions line by line: `-` is of the first, `+` of the second; empty when they are the same. */
export function diffFiles(before: Files, after: Files): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return paths.flatMap((path) => {
    if (before[path] === after[path]) return []
    return [`--- ${path}`, ...diffLines(toLines(before[path]), toLines(after[path]))]
  })
}

const toLines = (text: string | undefined): string[] => (text === undefined ? [] : text.split('\n'))

/** Returns the changed lines between the lines that both begin and end with. */
function diffLines(before: string[], after: string[]): string[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++
  return [
    `@@ line ${start + 1} @@`,
    ...before.slice(start, before.length - end).map((line) => `-${line}`),
    ...after.slice(start, after.length - end).map((line) => `+${line}`),
  ]
}
