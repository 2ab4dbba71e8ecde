import type { DefinitionFiles } from '../contract/agents'
import type { Definition } from './definition'
import { configFile, promptFile, readDefinition } from './read-definition'

export interface DefinitionStore {
  /** Saves the files of a version; idempotent. */
  save(name: string, etag: string, files: DefinitionFiles): Promise<void>
  /** Deletes the files of a version; idempotent. */
  delete(name: string, etag: string): Promise<void>
  /** Reads the files of a version; null when they are not complete. */
  readFiles(name: string, etag: string): Promise<DefinitionFiles | null>
  /** Reads a version. The error message names the file and, when it is invalid, the field. */
  read(
    name: string,
    etag: string,
  ): Promise<{ ok: true; definition: Definition } | { ok: false; message: string }>
}

/** Stores definitions in R2 as `agents/<name>/<etag>/<path>`. Versions are immutable. */
export function createDefinitionStore(bucket: R2Bucket): DefinitionStore {
  const folderOf = (name: string, etag: string) => `agents/${name}/${etag}/`
  return {
    async save(name, etag, files) {
      const folder = folderOf(name, etag)
      await Promise.all(
        Object.entries(files).map(([path, text]) => bucket.put(folder + path, text)),
      )
    },
    async delete(name, etag) {
      const { objects } = await bucket.list({ prefix: folderOf(name, etag) })
      await bucket.delete(objects.map(({ key }) => key))
    },
    async readFiles(name, etag) {
      const files = await readFolder(bucket, folderOf(name, etag))
      return (await computeDefinitionEtag(files)) === etag ? files : null
    },
    async read(name, etag) {
      const files = await readFolder(bucket, folderOf(name, etag))
      for (const required of [configFile, promptFile]) {
        if (files[required] === undefined) return { ok: false, message: missing(name, required) }
      }
      if ((await computeDefinitionEtag(files)) !== etag) {
        return { ok: false, message: missing(name, 'complete skills/ folder') }
      }
      const read = readDefinition(files)
      if (read.ok) return { ok: true, definition: read.definition }
      const [problem] = read.problems
      return {
        ok: false,
        message: `The definition of ${name} is invalid: ${problem?.path} ${problem?.message}`,
      }
    },
  }
}

const missing = (name: string, file: string): string =>
  `The definition of ${name} has no ${file}. Push the agent's folder again.`

async function readFolder(bucket: R2Bucket, folder: string): Promise<DefinitionFiles> {
  const { objects } = await bucket.list({ prefix: folder })
  const read = objects.map(async ({ key }) => {
    const text = await (await bucket.get(key))?.text()
    return text === undefined ? [] : [[key.slice(folder.length), text] as const]
  })
  return Object.fromEntries((await Promise.all(read)).flat())
}

/** Returns the SHA-256 of paths and contents, sorted by path, in hex: equal files have equal etags. */
export async function computeDefinitionEtag(files: DefinitionFiles): Promise<string> {
  const sorted = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))
  const bytes = new TextEncoder().encode(JSON.stringify(sorted))
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
