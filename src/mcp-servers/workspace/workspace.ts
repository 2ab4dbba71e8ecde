import { workspaceLimits } from '../../config'
import { AppError } from '../../errors'
import type { AccountId } from '../../ids'

export interface StoredFile {
  path: string
  bytes: number
  /** Changes with the content. */
  etag: string
  updatedAt: number
}

/** The files of one account, and of no other. Paths are canonical (`readPath`). */
export interface Workspace {
  /** In the order of their paths, after `after`. */
  list(query: {
    prefix: string
    after: string | null
    limit: number
  }): Promise<{ files: StoredFile[]; hasMore: boolean }>
  read(path: string): Promise<(StoredFile & { content: Uint8Array }) | null>
  /**
   * Writes a file whole. The same content again is no mistake.
   *
   * @param ifMatch the etag of the file as it was read; null for a file that is not there yet
   * @throws CONFLICT when the file is another by now, or when there is no room; TOO_LARGE
   */
  write(path: string, content: Uint8Array, ifMatch: string | null): Promise<StoredFile>
  /** False when there is none. */
  remove(path: string): Promise<boolean>
}

type FolderLimits = Record<'filesMax' | 'fileBytesMax' | 'bytesMax', number>

/**
 * Files in R2 as `workspace/<account>/<path>`. That nobody overwrites what they have not read is
 * R2's own condition; what a folder may hold is looked up before a write.
 */
export const createWorkspaces =
  (bucket: R2Bucket, limits: FolderLimits = workspaceLimits) =>
  (accountId: AccountId): Workspace => {
    const folder = `workspace/${accountId}/`
    const toFile = (object: R2Object): StoredFile => ({
      path: object.key.slice(folder.length),
      bytes: object.size,
      etag: object.etag,
      updatedAt: object.uploaded.getTime(),
    })
    return {
      async list({ prefix, after, limit }) {
        const found = await bucket.list({
          prefix: folder + prefix,
          limit,
          ...(after !== null && { startAfter: folder + after }),
        })
        return { files: found.objects.map(toFile), hasMore: found.truncated }
      },

      async read(path) {
        const object = await bucket.get(folder + path)
        if (!object) return null
        return { ...toFile(object), content: new Uint8Array(await object.arrayBuffer()) }
      },

      async write(path, content, ifMatch) {
        const key = folder + path
        const { objects } = await bucket.list({ prefix: folder, limit: limits.filesMax })
        checkRoom(limits, objects, key, content)
        const onlyIf = ifMatch === null ? { etagDoesNotMatch: '*' } : { etagMatches: ifMatch }
        const written = await bucket.put(key, content, { onlyIf })
        if (written) return toFile(written)
        const current = await bucket.head(key)
        // a repeat after a lost answer finds its own work
        if (current?.etag === (await md5(content))) return toFile(current)
        throw sayChanged(path, current, ifMatch)
      },

      async remove(path) {
        const isThere = (await bucket.head(folder + path)) !== null
        if (isThere) await bucket.delete(folder + path)
        return isThere
      },
    }
  }

function checkRoom(limits: FolderLimits, all: R2Object[], key: string, content: Uint8Array): void {
  if (content.length > limits.fileBytesMax) {
    throw new AppError('TOO_LARGE', `A file holds at most ${limits.fileBytesMax / 1024} KiB.`)
  }
  const others = all.filter((each) => each.key !== key)
  const bytes = others.reduce((sum, { size }) => sum + size, content.length)
  if (others.length < limits.filesMax && bytes <= limits.bytesMax) return
  throw new AppError(
    'CONFLICT',
    `There is no room: your folder holds at most ${limits.filesMax} files and ${limits.bytesMax / 1024 / 1024} MiB.`,
    { hint: 'Delete what you no longer need with workspace_delete_file.' },
  )
}

function sayChanged(path: string, current: R2Object | null, ifMatch: string | null): AppError {
  if (!current) {
    const hint = 'Leave if_match out to write it anew.'
    return new AppError('CONFLICT', `There is no file ${path} any more.`, { hint })
  }
  const what =
    ifMatch === null ? `There is a file ${path} already` : `The file ${path} has changed since`
  return new AppError('CONFLICT', `${what}; nothing was written.`, {
    hint: 'Read it with workspace_read_file, and write with its etag as if_match.',
  })
}

/** The etag that R2 gives what is written in one piece. */
async function md5(content: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('MD5', content)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
