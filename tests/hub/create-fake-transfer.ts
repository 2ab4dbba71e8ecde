import type { TransferApi } from '../../src/agents/contract/agents'

/** Creates a store of what backups copy beside the database. */
export const createFakeTransfer = (): TransferApi => ({
  readObject: async () => '{"tables":[]}',
  checkObject: async () => null,
  writeObject: async () => null,
  readFiles: async () => ({ files: [], next: null }),
  writeFiles: async () => {},
})
