import { accountPath } from '../../shared/paths'

export const knowsPath = (name: string): string => `${accountPath(name)}/knows`
export const sessionPath = (name: string, id: string): string =>
  `${knowsPath(name)}/${encodeURIComponent(id)}`
