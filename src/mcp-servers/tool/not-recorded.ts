import { AppError } from '../../shared/errors'

/** Thrown by a call as of a time for what is not known as of it. */
export class NotRecordedError extends AppError {
  constructor() {
    super('CONFLICT', 'Not recorded: what this call asks is not known as of the time of the run.')
  }
}
