import { runLists } from '../../shared/config'
import { AppError } from '../../shared/errors'

/** Errors of saved views, as users read them. */
export const runViewErrors = {
  tooMany: () =>
    new AppError('CONFLICT', `You can save at most ${runLists.viewsMax} views.`, {
      hint: 'Delete a view, then save this one.',
    }),
}
