import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import type { HubClient } from '../client.ts'
import { HubError } from '../errors.ts'
import { CommandError } from './command.ts'
import type { PushedVersions } from './pushed-versions.ts'
import { readSharedSkills } from './shared-skills.ts'

/** Text by path, with forward slashes. */
export type Files = Record<string, string>

/** What a definition is made of. Other files of its folder, such as a README, stay on this machine. */
const definitionFile = /^(config\.yaml|system-prompt\.md|skills\/[^/]+\/SKILL\.md)$/

/** Lists the YAML and Markdown of a folder. @throws CommandError when there is no such folder */
function listFolder(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CommandError('usage', `There is no folder ${folder}.`)
  }
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && /\.(ya?ml|md)$/.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
}

/** Reads the files of a definition in a folder. */
const readFolder = (folder: string): Files =>
  Object.fromEntries(
    listFolder(folder)
      .filter((path) => definitionFile.test(path))
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  )

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
  /** Warnings, a line each: `config.yaml:3:brain.model: …`. */
  warnings: string[]
  /** What became of a change that has to pass a trial first, as a sentence; null: it is loaded. */
  held: string | null
  /** Why the hub did not load it: the version before stays active. */
  error: HubError | null
}

/** What this machine knows of the versions on the hub, and what it may replace. */
export interface Versions {
  pushed: PushedVersions
  /** Replaces versions and changes that somebody else made. */
  isForced?: boolean
  /** An agent that this machine has neither pushed nor pulled may be on the hub already: its version is replaced. */
  replacesUnknown?: boolean
}

/**
 * Sends a folder to the hub, which checks it and keeps the version before when it is broken, or when it is
 * another one than this machine pushed or pulled last (a conflict, with the differences).
 */
export async function pushFolder(
  client: HubClient,
  folder: string,
  { pushed, isForced = false, replacesUnknown = false }: Versions,
): Promise<Push> {
  const files = readDefinition(folder)
  const name = findAgentName(folder, files)
  const base = pushed.read(name)?.version ?? (replacesUnknown ? undefined : 0)
  const body = { files, ...(!isForced && base !== undefined && { base_version: base }) }
  const sent = await client.try('PUT /agents/:name/definition', { params: { name }, body })
  if (!sent.ok) return { name, warnings: [], held: null, error: sent.error }
  const { held } = sent.answer
  if (!held) pushed.write(name, sent.answer.definition.version, files)
  const warnings = sent.answer.warnings.map(({ path, message }) => `${path}: ${message}`)
  const others = listFolder(folder).filter((path) => !definitionFile.test(path))
  const notSent = others.map((path) => `${path}: Not sent: not a file of a definition`)
  return {
    name,
    warnings: [...warnings, ...notSent],
    held: held && describeHeld(held),
    error: null,
  }
}

const describeHeld = (held: { trial_id: string | null; problem: string | null }): string =>
  held.problem === null
    ? `It is saved and becomes active when it has passed trial ${held.trial_id}.`
    : `It is saved and not active. ${held.problem}`

/**
 * Writes an agent's active definition into a folder.
 *
 * @throws HubError; CommandError for a folder with changes that are not on the hub
 */
export async function pullFolder(
  client: HubClient,
  name: string,
  folder: string,
  { pushed, isForced = false }: Versions,
): Promise<{ version: number; files: Files }> {
  const isThere = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
  const local = isThere ? readDefinition(folder) : {}
  const isKnown =
    Object.keys(local).length === 0 || pushed.isUnchanged(findAgentName(folder, local), local)
  if (!isKnown && !isForced) {
    const hint = 'Name another folder, or replace them with --force.'
    throw new CommandError('refused', `${folder} has changes that are not on the hub.`, hint)
  }
  const found = await fetchDefinition(client, name)
  writeFolder(folder, found.files)
  pushed.write(name, found.version, found.files)
  return found
}

/** Reads the files of an agent's active definition. @throws HubError */
export async function fetchDefinition(
  client: HubClient,
  name: string,
): Promise<{ version: number; files: Files }> {
  const params = { name }
  const { files, definition } = await client.call('GET /agents/:name/definition', { params })
  if (files && Object.keys(files).length > 0) return { version: definition.version, files }
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
