import type { AccountId, ActivationId } from '../../shared/ids'

/** The attempt whose changes a patch shows. */
interface PatchName {
  agentId: AccountId
  activationId: ActivationId
  attempt: number
}

/** The patches of programs that worked in a repository. They are as private as the traces of their runs. */
export interface PatchStore {
  /** Saving again replaces. */
  save(name: PatchName, patch: string): Promise<void>
  read(name: PatchName): Promise<string | null>
  /** Deletes the patches of runs. Idempotent. */
  delete(agentId: AccountId, runs: readonly ActivationId[]): Promise<void>
}

/** Creates a patch store in R2, with the keys `patches/<agent>/<run>/<attempt>`. */
export function createPatchStore(bucket: R2Bucket): PatchStore {
  const folderOf = (agentId: AccountId) => `patches/${agentId}/`
  const toKey = ({ agentId, activationId, attempt }: PatchName) =>
    `${folderOf(agentId)}${activationId}/${attempt}`
  return {
    async save(name, patch) {
      await bucket.put(toKey(name), patch)
    },
    async read(name) {
      const object = await bucket.get(toKey(name))
      return object ? object.text() : null
    },
    async delete(agentId, runs) {
      const prefix = folderOf(agentId)
      const deleted = new Set<string>(runs)
      let cursor: string | undefined
      do {
        const page: R2Objects = await bucket.list({
          prefix,
          ...(cursor !== undefined && { cursor }),
        })
        const keys = page.objects
          .map(({ key }) => key)
          .filter((key) => deleted.has(key.slice(prefix.length).split('/')[0] ?? ''))
        if (keys.length > 0) await bucket.delete(keys)
        cursor = page.truncated ? page.cursor : undefined
      } while (cursor !== undefined)
    },
  }
}
