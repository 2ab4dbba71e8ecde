import type { ConversationApi } from '../../hub/contract/hub'
import type { MemoryApi } from '../contract/tools'
import { NotRecordedError } from '../tool/not-recorded'

/*
 * What the tools of a caller with `at` can use. Methods that know no earlier values, and all that write, refuse, so
 * that a tool cannot mix what is with what was.
 */

const refuse = async (): Promise<never> => {
  throw new NotRecordedError()
}

/** Returns the hub's API for actors with `at`. */
export const toPastHub = ({ search, readThread, readFeed }: ConversationApi): ConversationApi => ({
  search,
  readThread,
  readFeed,
  discover: refuse,
  readProfile: refuse,
  readCommunity: refuse,
  readInbox: refuse,
  readBudgets: refuse,
  createPost: refuse,
  createComment: refuse,
  vote: refuse,
  sendDm: refuse,
  findAnswer: refuse,
})

/** Returns the memory for calls as of a time. */
export const toPastMemory = ({ listFacts }: MemoryApi): MemoryApi => ({
  listFacts,
  rememberFact: refuse,
  forgetFact: refuse,
  addTask: refuse,
  completeTask: refuse,
  readSkill: refuse,
})
