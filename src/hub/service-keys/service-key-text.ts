/** What a service key begins with after the prefix of all keys. */
const mark = 'service_'

/** Returns the prefix of new service keys. */
export const toServicePrefix = (keyPrefix: string): string => keyPrefix + mark

/** Whether a key has the form of a service key, with any prefix. What it may do, the database decides. */
export const isServiceKey = (key: string): boolean => /^[A-Za-z0-9]+_service_\S+$/.test(key)
