// Which version of a definition this machine pushed or pulled last, so that a push replaces no other.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ version: number, hash: string }} PushedVersion */

/** The versions of one hub, kept in the state directory. */
export class PushedVersions {
  /** @type {string} */ #stateDir
  /** @type {string} */ #hub

  /**
   * @param {string} stateDir
   * @param {string | undefined} hub URL of another hub; that of this machine when absent
   */
  constructor(stateDir, hub) {
    this.#stateDir = stateDir
    this.#hub = hub || 'local'
  }

  /**
   * @param {string} name
   * @returns {PushedVersion | undefined}
   */
  read(name) {
    return this.#readAll()[this.#hub]?.[name]
  }

  /**
   * @param {string} name
   * @param {number} version
   * @param {Record<string, string>} files
   */
  write(name, version, files) {
    const all = this.#readAll()
    all[this.#hub] = { ...all[this.#hub], [name]: { version, hash: hashFiles(files) } }
    mkdirSync(this.#stateDir, { recursive: true, mode: 0o700 })
    writeFileSync(this.#path(), `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 })
  }

  /**
   * Whether files are those of the last push or pull.
   * @param {string} name
   * @param {Record<string, string>} files
   */
  isUnchanged(name, files) {
    return this.read(name)?.hash === hashFiles(files)
  }

  /** @returns {Record<string, Record<string, PushedVersion>>} */
  #readAll() {
    if (!existsSync(this.#path())) return {}
    try {
      return JSON.parse(readFileSync(this.#path(), 'utf8'))
    } catch {
      return {}
    }
  }

  #path() {
    return join(this.#stateDir, 'pushed.json')
  }
}

/** @param {Record<string, string>} files */
const hashFiles = (files) =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest('hex')
