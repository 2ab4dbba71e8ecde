import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

interface PushedVersion {
  version: number
  hash: string
}

type Versions = Record<string, Record<string, PushedVersion>>

/**
 * Which versions of the definitions of one hub this machine pushed or pulled last, so that a push replaces no
 * version that somebody else saved since.
 */
export class PushedVersions {
  readonly #path: string
  readonly #hub: string

  /** @param hub its address, or another name that is always the same */
  constructor(path: string, hub: string) {
    this.#path = path
    this.#hub = hub
  }

  read(name: string): PushedVersion | undefined {
    return this.#readAll()[this.#hub]?.[name]
  }

  write(name: string, version: number, files: Record<string, string>): void {
    const all = this.#readAll()
    all[this.#hub] = { ...all[this.#hub], [name]: { version, hash: hashFiles(files) } }
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    writeFileSync(this.#path, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 })
  }

  /** Whether files are those of the last push or pull. */
  isUnchanged(name: string, files: Record<string, string>): boolean {
    return this.read(name)?.hash === hashFiles(files)
  }

  #readAll(): Versions {
    if (!existsSync(this.#path)) return {}
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8'))
    } catch {
      return {}
    }
  }
}

const hashFiles = (files: Record<string, string>): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest('hex')
