import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as z from 'zod'
import { emptyFolder, ensureFolder, removeTree } from './place-files.ts'

const place = z.object({
  program: z.string(),
  agent: z.string(),
  repository: z.string().nullable(),
  session_id: z.string().nullable(),
  /** Milliseconds since the epoch. */
  used_at: z.number(),
  /** The work folder may hold changes that were not pushed. */
  has_unsaved_work: z.boolean(),
})
type PlaceFacts = z.output<typeof place>

/**
 * The home and work folder of a program's session. They outlive a run, because programs find their sessions by both
 * paths; what was not used for a week is deleted.
 */
export interface Place {
  folder: string
  home: string
  work: string
  /** For temporary files. */
  temp: string
  /** The run's own objects of its repository, where no program writes. */
  repository: string
  facts: PlaceFacts
}

const weekMs = 7 * 86_400_000
const keptMax = 50

export class Places {
  readonly #root: string
  readonly #used = new Set<string>()
  /** In use, and to be deleted. */
  readonly #forgotten = new Set<string>()

  constructor(folder: string) {
    this.#root = join(folder, 'places')
    mkdirSync(this.#root, { recursive: true, mode: 0o700 })
  }

  /**
   * Returns the place of a session if this machine has it and it is free, else a new one.
   *
   * @param handle as `toHandle` wrote it; null: no earlier session
   */
  take(
    wanted: Pick<PlaceFacts, 'program' | 'agent' | 'repository'>,
    handle: string | null,
    now: number,
  ): Place {
    const known = handle === null ? undefined : this.#find(wanted, handle)
    const folder = known ?? join(this.#root, randomUUID())
    this.#used.add(folder)
    const facts = known === undefined ? undefined : this.#read(known)
    const place: Place = {
      folder,
      home: join(folder, 'home'),
      work: join(folder, 'work'),
      temp: join(folder, 'tmp'),
      repository: `${folder}.git`,
      facts: facts ?? { ...wanted, session_id: null, used_at: now, has_unsaved_work: false },
    }
    for (const path of [folder, place.home, place.work]) ensureFolder(path)
    emptyFolder(place.temp)
    this.save(place, {})
    return place
  }

  /** Names a session among all of this machine: programs number theirs in each home folder anew. */
  toHandle(place: Place, sessionId: string): string {
    return `${basename(place.folder)} ${sessionId}`.slice(0, 200)
  }

  /** Writes down what changed. The facts lie outside the folders that the program may write. */
  save(place: Place, changes: Partial<PlaceFacts>): void {
    Object.assign(place.facts, changes)
    writeFileSync(`${place.folder}.json`, JSON.stringify(place.facts), { mode: 0o600 })
  }

  /** Frees the place; without a session there is nothing to go on with, so it is deleted. */
  release(place: Place): void {
    this.#used.delete(place.folder)
    const isForgotten = this.#forgotten.delete(place.folder)
    if (place.facts.session_id === null || isForgotten) this.#delete(place.folder)
    else removeTree(place.temp)
  }

  /** Deletes a session with everything of its place; one that is in use goes when its run ends. */
  forget(handle: string): void {
    const folder = this.#findFolder(handle)
    const facts = folder === undefined ? undefined : this.#read(folder)
    if (folder === undefined || facts?.session_id !== handle.slice(37)) return
    if (this.#used.has(folder)) this.#forgotten.add(folder)
    else this.#delete(folder)
  }

  #findFolder(handle: string): string | undefined {
    return /^[0-9a-f-]{36} /.test(handle) ? join(this.#root, handle.slice(0, 36)) : undefined
  }

  /** Deletes what is old, unknown or too much. */
  clean(now: number): void {
    const known = this.#list().sort((a, b) => b.facts.used_at - a.facts.used_at)
    const kept = known
      .filter(({ facts }) => facts.session_id !== null && now - facts.used_at < weekMs)
      .slice(0, keptMax)
    const folders = new Set([...kept.map(({ folder }) => folder), ...this.#used])
    for (const name of readdirSync(this.#root)) {
      const folder = join(this.#root, name.replace(/\.(json|git)$/, ''))
      if (!folders.has(folder)) this.#delete(folder)
    }
  }

  #find(wanted: Pick<PlaceFacts, 'program' | 'agent' | 'repository'>, handle: string) {
    const folder = this.#findFolder(handle)
    if (folder === undefined) return undefined
    const facts = this.#read(folder)
    const isSame =
      facts?.session_id === handle.slice(37) &&
      facts.program === wanted.program &&
      facts.agent === wanted.agent &&
      facts.repository === wanted.repository
    return isSame && !this.#used.has(folder) && existsSync(folder) ? folder : undefined
  }

  #list(): { folder: string; facts: PlaceFacts }[] {
    return readdirSync(this.#root)
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        const folder = join(this.#root, name.replace(/\.json$/, ''))
        const facts = this.#read(folder)
        return facts && existsSync(folder) ? [{ folder, facts }] : []
      })
  }

  #read(folder: string): PlaceFacts | undefined {
    try {
      return place.parse(JSON.parse(readFileSync(`${folder}.json`, 'utf8')))
    } catch {
      return undefined
    }
  }

  #delete(folder: string): void {
    removeTree(folder)
    rmSync(`${folder}.json`, { force: true })
    rmSync(`${folder}.git`, { recursive: true, force: true })
  }
}
