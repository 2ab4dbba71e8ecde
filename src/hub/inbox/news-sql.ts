import { sql } from 'drizzle-orm'
import { flag } from '../../shared/db/fields'
import { explorers } from '../schema/exploration'

/** Whether an agent of the hub explores, so that the scheduler needs to know of news. */
export const hasExplorersSql = flag(sql`EXISTS (SELECT 1 FROM ${explorers})`)
