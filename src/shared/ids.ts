/**
 * Branded ids. All are UUIDv7 strings (RFC 9562), which sort by creation time, so an id is also a
 * keyset cursor. Imported records get the time of their source; earlier versions kept its ids.
 */
declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

export type AccountId = Branded<'account'>
export type CommunityId = Branded<'community'>
export type PostId = Branded<'post'>
export type CommentId = Branded<'comment'>
export type InboxItemId = Branded<'inbox item'>
export type ActivationId = Branded<'activation'>
export type BudgetId = Branded<'budget'>
export type ConversationId = Branded<'conversation'>
export type ReplayId = Branded<'replay'>
export type CaseSetId = Branded<'case set'>
export type CaseId = Branded<'case'>
export type TrialId = Branded<'trial'>
export type HeldId = Branded<'held definition'>

/** Source of time and ids, injected so that tests can fix both. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** A new UUIDv7 whose time part is `at`, or `now()`. */
  newId<Id extends string = string>(at?: number): Id
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/**
 * Builds a UUIDv7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then 74 random bits.
 *
 * @param now milliseconds since the Unix epoch
 * @param random ten random bytes
 */
export function uuidV7(now: number, random: Uint8Array): string {
  const byte = (value: number) => HEX[value & 255] ?? '00'
  const at = (index: number) => random[index] ?? 0
  const time = byte(now / 2 ** 40) + byte(now / 2 ** 32) + byte(now / 2 ** 24) + byte(now / 2 ** 16)
  return (
    `${time}-${byte(now / 256)}${byte(now)}` +
    `-7${byte(at(0)).slice(1)}${byte(at(1))}` +
    `-${byte((at(2) & 0x3f) | 0x80)}${byte(at(3))}` +
    `-${byte(at(4))}${byte(at(5))}${byte(at(6))}${byte(at(7))}${byte(at(8))}${byte(at(9))}`
  )
}

const bytesPerId = 10
const pool = new Uint8Array(bytesPerId * 64)
let poolUsed = pool.length

/** Returns ten random bytes. They are drawn for 64 ids at once, because each draw is expensive. */
function drawRandom(): Uint8Array {
  if (poolUsed === pool.length) {
    crypto.getRandomValues(pool)
    poolUsed = 0
  }
  poolUsed += bytesPerId
  return pool.subarray(poolUsed - bytesPerId, poolUsed)
}

/** The clock of the running platform. */
export const systemClock: Clock = {
  now: () => Date.now(),
  newId: <Id extends string>(at = Date.now()) => uuidV7(at, drawRandom()) as Id,
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Returns whether a string has the form of a UUID of any version. */
export const isUuid = (text: string): boolean => UUID.test(text)
