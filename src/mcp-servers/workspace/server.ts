import type { ToolServer } from '../tool/define-tool'
import { deleteFile } from './tools/delete-file'
import { listFiles } from './tools/list-files'
import { readFile } from './tools/read-file'
import { writeFile } from './tools/write-file'

/** Files of the calling account, in a folder of its own. */
export const workspaceServer: ToolServer = {
  name: 'workspace',
  description: 'Your own folder of files, which outlast a task. No other account can see them.',
  tools: [listFiles, readFile, writeFile, deleteFile],
}
