import type { Db } from '../../shared/db/db'
import type { Clock } from '../../shared/ids'
import type { Cipher } from '../credentials/cipher'
import type { Resolve } from '../fetch/guarded-fetch'

export interface AccountsDeps {
  db: Db
  clock: Clock
  cipher: Cipher
  isPrivateAllowed: boolean
  resolve?: Resolve | undefined
  /** Name of the hub, as people read it at an authorization server. */
  hubName: string
}
